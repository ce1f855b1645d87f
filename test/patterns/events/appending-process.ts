/** A process that appends until it is killed, and prints every append that was acknowledged. */
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { EventSourcingConfig } from "../../../src/patterns/events/config.js";
import { EventStore } from "../../../src/patterns/events/event-store.js";
import { OpenedStore } from "../../../src/patterns/events/opened-store.js";
import { PostgresStorage } from "../../../src/patterns/events/storage/postgres-storage.js";
import { EventWorkers } from "../../../src/patterns/events/workers.js";
import { quiet } from "./stores.js";

const [, , url, writer] = process.argv as [string, string, string, string];
const db = await openDatabase({ url, poolSize: 3 });
const config = new EventSourcingConfig();
const store = new EventStore();
const storage = new PostgresStorage(db, config.schema, quiet);
const opened = new OpenedStore(storage, config, store.upcasters, quiet);
await store.attach(opened, new EventWorkers(storage, db, config, store.upcasters, quiet));

for (let n = 0; ; n++) {
  const id = (part: number): string =>
    `00000000-0000-4000-8${writer.padStart(3, "0")}-${String(n * 3 + part).padStart(12, "0")}`;
  const events = [0, 1, 2].map((part) => ({ type: "E", data: { writer, n, part }, id: id(part) }));
  const { version } = await store.append(`crash-${n % 4}`, events);
  process.stdout.write(`${JSON.stringify([n, version])}\n`);
}
