/**
 * A worker whose handlers block the event loop for longer than their lease. It says `ready`, starts the work of its mode when
 * it reads a line, and writes the lines of its log.
 */
import { once } from "node:events";
import { App } from "../../src/app/app.js";
import type { Logger } from "../../src/kit/logger.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { blockFor } from "../support/block-for.js";

const [, , url, mode, leaseMs, blockMs] = process.argv as string[] as [string, string, string, string, string, string];

const write = (message: string, fields?: object): void =>
  void process.stdout.write(`${JSON.stringify({ message, ...fields, error: undefined })}\n`);
const logger: Logger = { debug() {}, info() {}, warn: write, error: write, child: () => logger };

const app = new App();
app.logger = logger;
const leases = { lease: Number(leaseMs) / 1000, poll: 0.05 };
app.enableDatabase({ url: url!, poolSize: 5 });
/** Notes the begin, and blocks: first the note, so that it is there whatever happens to this process. */
const block = async (what: string, isLong = true): Promise<void> => {
  await app.database.execute("insert into begun values ($1, $2)", [what, process.pid]);
  if (isLong) blockFor(Number(blockMs));
};

let start = async (): Promise<unknown> => null;
if (mode === "job") {
  app.enableJobs(leases);
  const job = app.job<null>("blocking", { retries: 5, backoff: "1ms" }, () => block("job"));
  start = () => job.enqueue(null);
} else if (mode === "saga") {
  app.enableSaga({ ...leases, timeoutMs: 0 });
  const handle = app.saga(saga<null>("blocking").step("block", { action: () => block("saga") }));
  start = () => handle.start(null, { id: "one" });
} else {
  app.enableEventSourcing({ storeType: "postgres", ...leases });
}
await app.start();
if (mode === "events") {
  const item = { type: "Added", data: {} };
  start = () => app.eventStore.append("order-1", [item, item]);
  app.eventStore.subscribe({ name: "blocking" }, ({ version }) => block(`event ${version}`, version === 1));
}
process.stdout.write(`${JSON.stringify({ message: "ready" })}\n`);
await once(process.stdin, "data");
await start();
