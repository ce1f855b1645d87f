/**
 * A publisher stores messages with its transactions and leaves it to the workers to publish them. A worker publishes and
 * handles them with an inbox. The broker is a table: it shows who has published what, in which order.
 */
import { hostOf } from "../../../src/app/app.ts";
import { messagingState } from "../../../src/engines/messaging/state.ts";
import { TableBroker } from "../../../test/patterns/outbox/table-broker.ts";
import { createApp, mayBlock, pause, repeat, role, start, times, url, write } from "./pattern.mjs";

const app = createApp();
messagingState(hostOf(app)).replacement = () => new TableBroker(url);
app.enableMemoryBroker().enableOutbox({ relay: role === "worker", batchSize: 20, ...times });
if (role === "worker") {
  const options = { inbox: true, concurrency: 5, timeout: 2, retry: { attempts: 1000, delay: 0.01, maxDelay: 1 } };
  app.onMessage("orders", options, async ({ value: { key, n }, tx }) => {
    mayBlock(0.001);
    await tx.execute("insert into effects (key, n) values ($1, $2)", [key, n]);
    if (Math.random() < 0.02) throw new Error("by chance");
  });
}
await start(app);

/** A transaction whose client is gone, unknown to the server, must not keep its locks. */
const settings = { idle_in_transaction_session_timeout: 3000 };

if (role === "publisher") {
  await repeat(4, async () => {
    const key = `k${Math.floor(Math.random() * 10)}`;
    let n;
    try {
      await app.database.transaction(
        async (tx) => {
          // The row lock gives the transactions of a key an order.
          n = await tx.fetchval("update counters set n = n + 1 where key = $1 returning n", [key]);
          await tx.execute("insert into stored (key, n) values ($1, $2)", [key, n]);
          await tx.publish("orders", { key, n }, { key, id: `${key}-${n}` });
          if (Math.random() < 0.05) throw new Error("by chance");
        },
        { settings },
      );
      write("sent", { key, n });
    } catch {
      write("unsure", { key, n });
    }
    await pause(Math.random() * 40);
  });
}
