/**
 * A worker that runs jobs. The effect of a job goes to a table with the id of the job as its primary key. With `KILL_AT=n`
 * the process kills itself at its n-th chance; with `PAUSE_AT=n` it stops itself there until it is told to continue.
 */
import { setTimeout as delay } from "node:timers/promises";
import { App } from "../../../src/app/app.js";
import { JobStorage } from "../../../src/patterns/jobs/storage.js";
import { quiet } from "../events/stores.js";

const [, , url, mode] = process.argv as [string, string, string, string];
let killAt = Number(process.env["KILL_AT"] ?? 0);
let pauseAt = Number(process.env["PAUSE_AT"] ?? 0);
const mayDie = (): void => {
  if (--killAt === 0) process.kill(process.pid, "SIGKILL");
  if (--pauseAt === 0) process.kill(process.pid, "SIGSTOP");
};

const app = new App();
app.logger = quiet;
app.enableDatabase({ url, poolSize: 5 }).enableJobs({ leaseMs: 400, pollMs: 50 });
const job = app.job<{ n: number }>("effect", { retries: 1000, backoff: 1, concurrency: 7 }, async ({ n }, { id }) => {
  mayDie();
  // Some end at once, in groups; others one by one.
  if (n % 2 === 0) await app.database.fetchval("select pg_sleep($1)", [(n % 10) / 1000]);
  await app.database.execute("insert into effects values ($1, $2) on conflict do nothing", [id, n]);
  mayDie();
});

// Chances also before and after each statement that claims, ends or adds jobs. Nobody learns of one that was just committed.
const methods = JobStorage.prototype as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
const { claim, add } = methods as { [name: string]: (...args: unknown[]) => Promise<unknown> };
for (const [name, method] of Object.entries({ claim: claim!, add: add! })) {
  methods[name] = async function (...args) {
    mayDie();
    const result = await method.apply(this, args);
    mayDie();
    return result;
  };
}
await app.start();

if (mode === "add") {
  // Each caller notes the id that it was given: an acknowledged job.
  await Promise.all(
    Array.from({ length: 8 }, async (_, caller) => {
      for (let n = caller; ; n += 8) {
        const id = await job.enqueue({ n });
        await app.database.execute("insert into acknowledged values ($1, $2)", [id, n]);
        if (n > 400) return;
      }
    }),
  );
}
for (;;) {
  // After a pause the time for a free connection can be over.
  await app.database.execute("insert into beats values ($1)", [process.pid]).catch(() => {});
  await delay(20);
}
