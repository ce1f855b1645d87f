/**
 * A worker on a broker that is a table. Modes:
 * - publish: stores messages with transactions until it is killed, and leaves it to others to publish them.
 * - relay: publishes the messages of the outbox, and consumes them with an inbox.
 *
 * `FAULT_AT=n` sends `FAULT` (a signal) to the process itself at the n-th chance at the place named by `PLACE`.
 */
import { App, hostOf } from "../../../src/app/app.js";
import { messagingState } from "../../../src/engines/messaging/state.js";
import type { Logger } from "../../../src/kit/logger.js";
import { OutboxStorage } from "../../../src/patterns/outbox/storage.js";
import { TableBroker } from "./table-broker.js";

const [, , url, mode] = process.argv as [string, string, string, string];
const { FAULT_AT = "0", FAULT = "SIGKILL", PLACE = "", KEYS = "5" } = process.env;
let chances = Number(FAULT_AT);
const fault = (place: string): void => {
  if (place !== PLACE || --chances !== 0) return;
  process.kill(process.pid, FAULT);
};

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const write = (message: string, fields: { readonly error?: unknown } = {}): void =>
  print(`${message} ${fields.error instanceof Error ? fields.error.message : ""}`);
const logger: Logger = { debug() {}, info: write, warn: write, error: write, child: () => logger };

class FaultyBroker extends TableBroker {
  override async publish(records: Parameters<TableBroker["publish"]>[0]) {
    fault("before publish");
    const outcomes = await super.publish(records);
    fault("after publish");
    return outcomes;
  }
}

const { ready, settle } = OutboxStorage.prototype;
OutboxStorage.prototype.ready = async function (...args) {
  const messages = await ready.apply(this, args);
  if (messages.length > 0) fault("after read");
  return messages;
};
OutboxStorage.prototype.settle = async function (...args) {
  if (args[3].published.length > 0) fault("before mark");
  const state = await settle.apply(this, args);
  if (args[3].published.length > 0) fault("after mark");
  return state;
};

const app = new App();
app.logger = logger;
messagingState(hostOf(app)).replacement = () => new FaultyBroker(url);
app
  .enableDatabase({ url, poolSize: 6 })
  .enableMemoryBroker()
  .enableOutbox({ relay: mode === "relay", lease: "600ms", poll: "50ms", batchSize: 7 });
if (mode === "relay") {
  app.onMessage("orders", { inbox: true, concurrency: 5, retry: { attempts: 5, delay: 0.01 } }, async (message) => {
    const { key, n } = message.value as { key: string; n: number };
    await message.tx.execute("insert into effects (key, n) values ($1, $2)", [key, n]);
    fault("in handler");
  });
}
await app.start();
print("ready");
process.on("SIGTERM", () => void app.stop().then(() => process.exit(0)));

for (let i = 0; mode === "publish"; i++) {
  const key = `k${i % Number(KEYS)}`;
  await app.database.transaction(async (tx) => {
    // The row lock gives the transactions of a key an order.
    const n = await tx.fetchval("update counters set n = n + 1 where key = $1 returning n", [key]);
    await tx.execute("insert into ledger (key, n) values ($1, $2)", [key, n]);
    fault("before commit");
    await tx.publish("orders", { key, n }, { key });
  });
  fault("after commit");
}
