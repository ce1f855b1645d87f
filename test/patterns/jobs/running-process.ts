/** A worker that runs jobs. The effect of a job goes to a table with the id of the job as its primary key. */
import { setTimeout as delay } from "node:timers/promises";
import { App } from "../../../src/app/app.js";
import { JobStorage } from "../../../src/patterns/jobs/storage.js";
import { quiet } from "../events/stores.js";
import { beat, mayDie, mayDieAround } from "../may-die.js";

const [, , url, mode] = process.argv as [string, string, string, string];

const app = new App();
app.logger = quiet;
app.enableDatabase({ url, poolSize: 5 }).enableJobs({ lease: "400ms", poll: "50ms" });
const job = app.job<{ n: number }>(
  "effect",
  { retries: 1000, backoff: "1ms", concurrency: 7 },
  async ({ n }, { id }) => {
    mayDie();
    // Some end at once, in groups; others one by one.
    if (n % 2 === 0) await app.database.fetchval("select pg_sleep($1)", [(n % 10) / 1000]);
    await app.database.execute("insert into effects values ($1, $2) on conflict do nothing", [id, n]);
    mayDie();
  },
);

app.job("killer", { maxLost: 1000 }, () => process.kill(process.pid, "SIGKILL"));
app.job("neighbour", {}, () => delay(300));

mayDieAround(JobStorage.prototype, ["claim", "add"]);
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
await beat(app.database);
