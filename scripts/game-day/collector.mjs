import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually, pause } from "../chaos/wait.mjs";
import { freePort } from "../services/ports.mjs";
import { hasRotel, startRotel } from "../services/rotel.mjs";
import { freeze } from "./hurt.mjs";

/** Milliseconds in which each machine exports again: a batch waits for up to 30 seconds after it has failed several times. */
const patience = 90_000;

/**
 * A collector of OTLP. Faults end when each machine, which reaches it by one of the tunnels, has exported again. They resolve
 * to the time at which the collector was back. Null where its program does not run.
 */
export async function startCollector(folder) {
  if (!hasRotel) return null;
  const own = join(folder, "collector");
  await mkdir(own);
  const [port, grpc] = [await freePort(), await freePort()];
  const start = () => startRotel({ folder: own, port, grpc, verbosity: "basic", log: () => {} });
  let running = await start();
  const untilExporting = async (tunnels) => {
    const before = tunnels.map(({ responseBytes }) => responseBytes);
    const isExporting = () => tunnels.every(({ responseBytes }, index) => responseBytes > before[index]);
    if (!(await eventually(isExporting, patience))) throw new Error("not all machines have exported again");
  };
  return {
    port,
    grpc,
    async restart(seconds, tunnels) {
      await running.stop();
      await pause(seconds * 1000);
      running = await start();
      const back = Date.now();
      await untilExporting(tunnels);
      return { back };
    },
    async freeze(seconds, tunnels) {
      await freeze(running.pid, seconds);
      const back = Date.now();
      await untilExporting(tunnels);
      return { back };
    },
    /** What it has received: the time of each export, its kind, and the number of its spans or metrics. */
    received: async () => receivedIn(await readFile(running.output, "utf8")),
    stop: () => running.stop(),
  };
}

/** Reads the lines of the collector, in which names and values are coloured. */
export function receivedIn(output) {
  const plain = output.replaceAll(/\u001b\[\d*m/g, "");
  return [...plain.matchAll(/^(\S+) .*data_type="(traces|metrics)".* (?:spans|metrics)=(\d+)$/gm)].map(
    ([, time, kind, count]) => ({ at: Date.parse(time), kind, count: Number(count) }),
  );
}
