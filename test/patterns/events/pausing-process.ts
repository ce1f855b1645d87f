/**
 * A worker of a projection and of a subscription that stops itself in the middle of each, as a machine that is suspended.
 * The second argument names the place: `batch`, in its transaction, or `handler`, after its effect.
 */
import { App } from "../../../src/app/app.js";
import { quiet } from "./stores.js";
import { totals } from "./totals.js";

const [, , url, place] = process.argv as [string, string, string, string];
let left = 4;
const mayPause = (here: string): void => {
  if (here === place && --left === 0) process.kill(process.pid, "SIGSTOP");
};
const app = new App();
app.logger = quiet;
app.enableDatabase({ url, poolSize: 4 }).enableEventSourcing({ lease: "1s", poll: "50ms" });
await app.start();
if (place === "batch") app.eventStore.project(totals("paused_totals", { batch: 3 }, () => mayPause("batch")));
else {
  app.eventStore.subscribe({ name: "paused", categories: ["order"], batch: 3 }, async ({ position }) => {
    await app.database.execute("insert into handled (position, pid) values ($1, $2)", [position, process.pid]);
    mayPause("handler");
  });
}
setInterval(() => void app.database.execute("insert into beats (pid) values ($1)", [process.pid]).catch(() => {}), 50);
