import { checkMessages } from "../check-messages.mjs";
import { ledgerFile } from "../ledger.mjs";
import { eventually, pause } from "../wait.mjs";

const workers = 2;

/** Producers and consumers in this process, on a memory broker that stops and starts again; consumers come and go. */
export default {
  name: "memory",
  async start({ ledger }) {
    const { register } = await import("tsx/esm/api");
    register();
    const { MemoryBroker, MemoryHub, openMessaging } = await import("../../../src/entry/messaging.ts");
    const hub = new MemoryHub(1_000_000);
    const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
    const open = () => openMessaging(new MemoryBroker({ hub }), { logger: quiet });
    const write = ledgerFile(ledger.folder, "memory");
    const handle = async (message) => {
      const { key, number } = message.value;
      if (Math.random() < 0.5) await pause(Math.random() * 4);
      if (message.attempt === 1 && Math.random() < 0.02) throw new Error("by chance");
      write("handled", { key, number, id: message.id });
    };
    const options = { concurrency: 10, prefetch: 20, retry: { delay: 0.02 } };
    const clients = [];
    const consumers = [];
    for (let number = 0; number < workers; number++) {
      clients.push(await open());
      consumers.push(await clients[number].subscribe("chaos", options, handle));
    }
    const producer = await open();
    const broker = {
      restart: async (random) => {
        hub.stop();
        await pause(random.between(50, 1000));
        hub.start();
      },
    };
    const leave = (number) => ({
      leave: async (random) => {
        await consumers[number].close();
        await pause(random.between(0, 500));
        // The broker may be stopped now: a service would try again.
        await eventually(async () => {
          try {
            consumers[number] = await clients[number].subscribe("chaos", options, handle);
            return true;
          } catch {
            return false;
          }
        }, 30_000);
      },
    });
    return {
      actors: [
        { name: "broker", faults: broker },
        ...consumers.map((_, number) => ({ name: `worker ${number}`, faults: leave(number) })),
      ],
      async act(signal) {
        const produce = async (key) => {
          for (let number = 0; !signal.aborted; number++) {
            const id = `${key}-${number}`;
            try {
              await producer.publish("chaos", { key, number }, { key, id });
              write("sent", { key, number, id });
            } catch {
              write("unsure", { key, number, id });
            }
            await pause(Math.random() * 10);
          }
        };
        await Promise.all(Array.from({ length: 10 }, (_, key) => produce(`key${key}`)));
      },
      async settle() {
        const missing = () => {
          const handled = new Set(ledger.read("handled").map(({ id }) => id));
          return ledger.read("sent").filter(({ id }) => !handled.has(id)).length;
        };
        await eventually(() => missing() === 0, 60_000);
      },
      check: async (faults) => checkMessages(ledger, { faults, underWay: 20 * workers, ordered: true }),
      async stop() {
        await Promise.all([...clients, producer].map((client) => client.close()));
      },
    };
  },
};
