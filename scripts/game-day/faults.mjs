import { eventually, pause } from "../chaos/wait.mjs";
import { signalProcess } from "./machines.mjs";

/** Milliseconds in which a rolled-out version must serve everywhere. */
const rollPatience = 240_000;

/**
 * Makes a fault happen; resolves when what it has hurt is whole again, to what the verdict must know: `lost` are the times
 * between which a confirmed write to Redis may have been lost, `back` is when the collector was there again.
 */
export async function happen(fault, { machines, postgres, redis, broker, collector, rollOut, failures }) {
  const { kind, target, way, by, bytes, shift, seconds = 0 } = fault;
  const machine = machines[fault.machine];
  const milliseconds = seconds * 1000;
  const tunnels = machine?.tunnelsOf(target ?? "engines") ?? [];
  switch (kind) {
    case "kill worker":
      await machine.signalWorker(fault.worker, "SIGKILL");
      break;
    case "kill machine":
      await machine.kill(milliseconds);
      break;
    case "freeze worker": {
      const pid = await machine.signalWorker(fault.worker, "SIGSTOP");
      await pause(milliseconds);
      if (pid !== null) signalProcess(pid, "SIGCONT");
      break;
    }
    case "freeze machine":
      await machine.freeze(milliseconds);
      break;
    case "partition":
    case "one-way partition":
    case "hide from balancer":
      for (const tunnel of tunnels) tunnel.stall(...(way ? [way] : []));
      await pause(milliseconds);
      for (const tunnel of tunnels) tunnel.flow();
      break;
    case "cut connections":
      await Promise.all(tunnels.map((tunnel) => tunnel.cut()));
      await pause(milliseconds);
      await Promise.all(tunnels.map((tunnel) => tunnel.mend()));
      break;
    case "delay":
      for (const tunnel of tunnels) tunnel.delay(by);
      await pause(milliseconds);
      for (const tunnel of tunnels) tunnel.delay(0);
      break;
    case "bandwidth":
      for (const tunnel of tunnels) tunnel.limit(bytes);
      await pause(milliseconds);
      for (const tunnel of tunnels) tunnel.limit(0);
      break;
    case "clock jump":
      await machine.shiftClock(shift * 1000);
      await pause(milliseconds);
      await machine.shiftClock(0);
      break;
    case "restart postgres":
      await postgres.restart();
      break;
    case "promote standby":
      await postgres.promote();
      break;
    case "fill postgres":
      await postgres.fill(seconds);
      break;
    case "restart redis":
      return { lost: await redis.restart(seconds) };
    case "freeze redis":
      return { lost: await redis.freeze(seconds) };
    case "fill redis":
      return { lost: await redis.fill(seconds) };
    case "fail over redis":
      return { lost: await redis.failOver(by, seconds) };
    case "restart collector":
      return collector.restart(seconds, collectorTunnels(machines));
    case "freeze collector":
      return collector.freeze(seconds, collectorTunnels(machines));
    case "restart broker":
      await broker.restart(seconds);
      break;
    case "freeze broker":
      await broker.freeze(seconds);
      break;
    case "fill broker":
      await broker.fill(seconds);
      break;
    case "starve broker":
      await broker.starve(seconds);
      break;
    case "roll out": {
      const isEverywhere = await rollOut();
      if (!(await eventually(isEverywhere, rollPatience, 500))) failures.push("a version was not rolled out in time");
      break;
    }
    default:
      throw new Error(`no fault '${kind}'`);
  }
  return {};
}

function collectorTunnels(machines) {
  return machines.map(({ tunnels }) => tunnels.collector);
}

/** The machine or the engine that a fault hurts. */
export function laneOf({ kind, machine }) {
  if (machine !== undefined) return `machine ${machine}`;
  if (kind.includes("postgres") || kind.includes("standby")) return "postgres";
  return kind.split(" ").at(-1);
}
