/**
 * A writer appends to streams that all writers share, and repeats each append until it is confirmed. A worker has a
 * subscription, a projection in two shards and one in the transaction of the append.
 */
import { randomUUID } from "node:crypto";
import { sql } from "../../../src/engines/db/sql/sql.ts";
import { Aggregate } from "../../../src/patterns/events/aggregate.ts";
import { ConcurrencyError } from "../../../src/patterns/events/errors.ts";
import { projection } from "../../../src/patterns/events/projections/projection.ts";
import { PostgresStorage } from "../../../src/patterns/events/storage/postgres-storage.ts";
import { createApp, ending, mayBlock, pause, repeat, role, start, times, write } from "./pattern.mjs";

class Order extends Aggregate {
  static category = "order";
  apply() {}
}
class Account extends Aggregate {
  static category = "account";
  apply() {}
}

/** The token of the claim under which the subscription works. */
let token = 0;
const { claim } = PostgresStorage.prototype;
PostgresStorage.prototype.claim = async function (...args) {
  const claimed = await claim.apply(this, args);
  if (args[0] === "ledger" && claimed !== null) token = claimed.token;
  return claimed;
};

const app = createApp();
app.enableEventSourcing({ ...times });
const totals = (name, from, options) =>
  projection(name, {
    from,
    tables: [name],
    create: (tx, tables) =>
      tx.execute(sql`create table ${tables[name]} (stream text primary key, total int not null, events int not null)`),
    on: {
      Added: ({ stream, data }, { tx, tables }) =>
        tx.execute(sql`insert into ${tables[name]} as t values (${stream}, ${data.price}, 1)
          on conflict (stream) do update set total = t.total + excluded.total, events = t.events + 1`),
    },
    ...options,
  });
app.eventStore.project(totals("account_totals", Account, { mode: "inline" }));
if (role === "worker") {
  app.eventStore.project(totals("order_totals", Order, { shards: 2, batch: 20 }));
  app.eventStore.subscribe({ name: "ledger", batch: 20 }, async ({ position, id }) => {
    write("handled", { position, id, token });
    mayBlock(0.001);
    if (Math.random() < 0.2) await pause(Math.random() * 10);
  });
}
await start(app);

const settings = { idle_in_transaction_session_timeout: 3000 };

if (role === "writer") {
  await repeat(4, async () => {
    const stream = `${Math.random() < 0.7 ? "order" : "account"}-${Math.floor(Math.random() * 5)}`;
    const count = 1 + Math.floor(Math.random() * 3);
    const append = randomUUID();
    const events = Array.from({ length: count }, (_, part) => ({
      type: "Added",
      data: { price: 1 + Math.floor(Math.random() * 9), append, part, count },
      id: randomUUID(),
    }));
    const way = Math.floor(Math.random() * 3);
    while (!ending) {
      try {
        const { version } = await store(stream, events, way);
        write("sent", { append, stream, version, count });
        break;
      } catch (error) {
        if (!(error instanceof ConcurrencyError)) await pause(20 + Math.random() * 80);
      }
    }
    await pause(Math.random() * 40);
  });
}

async function store(stream, events, way) {
  if (way === 0) return app.eventStore.append(stream, events);
  if (way === 1) {
    const expectedVersion = await app.eventStore.streamVersion(stream);
    return app.eventStore.append(stream, events, { expectedVersion });
  }
  return app.database.transaction(
    async (tx) => {
      await tx.execute("insert into stored (append) values ($1) on conflict do nothing", [events[0].data.append]);
      return app.eventStore.append(stream, events, { tx });
    },
    { settings },
  );
}
