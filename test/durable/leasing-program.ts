/**
 * A server with a lease of each kind. With `WATCHES` it only has the page of the machine, and works on nothing. Its jobs and sagas
 * do not end.
 */
import { App } from "../../src/app/app.js";
import { sql } from "../../src/engines/db/sql/sql.js";
import { projection } from "../../src/patterns/events/projections/projection.js";
import { saga } from "../../src/patterns/saga/definition.js";

const { DATABASE: url, WATCHES: watches } = process.env;
const forever = (): Promise<void> => new Promise(() => {});

const app = new App();
const leases = { lease: "3s", poll: "50ms" } as const;
app.enableDatabase({ url: url!, poolSize: 5 }).enableMemoryBroker();
app.enableOutbox({ lease: "3s", relay: watches === undefined });
app.enableEventSourcing({ storeType: "postgres", ...leases });
app.enableSaga({ ...leases, timeoutMs: 0, admin: {} }).enableJobs({ ...leases, admin: { path: "/ops/jobs" } });
app.enableHealthChecks({ version: "1.2", admin: {} });
if (watches === undefined) {
  const report = app.job<null>("report", {}, forever);
  const order = app.saga(saga<null>("order").step("pay", { action: forever }));
  app.get("/begin", async () => {
    await report.enqueue(null);
    await order.start(null, { id: "first" });
    return null;
  });
  app.eventStore.subscribe({ name: "mail", shards: 2 }, () => {});
  app.eventStore.project(
    projection("counts", {
      from: { category: "order" },
      tables: ["counts"],
      create: (tx, { counts }) => tx.execute(sql`create table ${counts} (stream text primary key)`),
      on: {},
    }),
  );
}
await app.run({ port: 0, debug: false });
