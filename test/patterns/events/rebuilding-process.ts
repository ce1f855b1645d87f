/** A process that builds version 2 of a projection, slowly, until it is killed. */
import { setTimeout as delay } from "node:timers/promises";
import { App } from "../../../src/app/app.js";
import { quiet } from "./stores.js";
import { totals } from "./totals.js";

const [, , url] = process.argv as [string, string, string];
const app = new App();
app.logger = quiet;
app.enableDatabase({ url, poolSize: 3 }).enableEventSourcing({ lease: "1s", poll: "50ms" });
await app.start();
app.eventStore.project(totals("killed_totals", { version: 2, batch: 10 }, () => delay(5)));
setInterval(() => {}, 1000);
