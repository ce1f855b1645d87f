import { fileURLToPath } from "node:url";
import { checkMessages } from "../check-messages.mjs";
import { startTunnel } from "../tunnel.mjs";
import { eventually, pause } from "../wait.mjs";

const program = fileURLToPath(new URL("../programs/messages.mjs", import.meta.url));
const prefetch = 20;

/**
 * Producers and workers on a real broker behind a tunnel. `start` starts the broker: it gets the port that clients are sent to,
 * and resolves to its own port and a way to stop it. `settings` are more of those of the programs; `others` adds producers of
 * another make, and gets the port. With `joins` further workers come and leave all the time.
 */
export async function brokerSubject(
  place,
  {
    broker,
    configOf,
    start,
    workers,
    producers = 2,
    ordered = true,
    joins = false,
    others = async () => [],
    settings: more = {},
  },
) {
  const { ledger, spawn, compile, long } = place;
  const file = await compile(program);
  const tunnel = await startTunnel(await start.port());
  const server = await start.start(tunnel.port);
  const settings = {
    broker,
    config: configOf(tunnel.port),
    topic: "chaos",
    folder: ledger.folder,
    keys: 5,
    prefetch,
    // Workers that are killed all the time must keep up for a long while.
    pace: long ? 200 : 10,
    ...more,
  };
  const args = (role) => [role, JSON.stringify(settings)];
  const consuming = Array.from({ length: workers }, () => spawn(file, args("worker")));
  // A queue takes messages from the moment its first worker has declared it.
  const producing = [
    ...Array.from({ length: producers }, () => spawn(file, args("producer"))),
    ...(await others(tunnel.port)),
  ];
  await eventually(() => ledger.read("handled").length > 0, 120_000);
  const connection = {
    cut: async (random) => {
      await tunnel.cut();
      await pause(random.between(100, 2000));
      await tunnel.mend();
    },
  };
  const joining = {
    join: async (random) => {
      const worker = spawn(file, args("worker"));
      await pause(random.between(500, 6000));
      await worker.close();
    },
  };
  return {
    actors: [
      ...consuming.map((worker, number) => ({ name: `worker ${number}`, faults: worker.faults })),
      ...producing.map((producer, number) => ({ name: `producer ${number}`, faults: producer.faults })),
      { name: "connections", faults: connection },
      ...(joins ? [{ name: "group", faults: joining }] : []),
      ...(server.faults && (long || server.quick) ? [{ name: "broker", faults: server.faults }] : []),
    ],
    async settle() {
      await Promise.all(producing.map((producer) => producer.close()));
      const missing = () => {
        const handled = new Set(ledger.read("handled").map(({ id }) => id));
        return ledger.read("sent").filter(({ id }) => !handled.has(id)).length;
      };
      // Brokers that were restarted leave a backlog: it is waited for as long as it becomes smaller.
      for (let left = missing(), before = Number.POSITIVE_INFINITY; left > 0 && left < before; left = missing()) {
        before = left;
        await eventually(() => missing() === 0, 60_000);
      }
      await Promise.all(consuming.map((worker) => worker.close()));
    },
    async check(faults) {
      return checkMessages(ledger, { faults, underWay: prefetch * (workers + 1), ordered });
    },
    async stop() {
      await tunnel.close();
      await server.stop();
    },
  };
}
