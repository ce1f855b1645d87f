/** The common part of programs on PostgreSQL: `<program>.mjs <role> '<json>'` with the URL and the folder of the ledger. */
import { App } from "../../../src/app/app.ts";
import { ledgerFile } from "../ledger.mjs";
import { notStarted } from "../program.mjs";
import { pause } from "../wait.mjs";

const [role, json] = process.argv.slice(2);
const { url, folder } = JSON.parse(json);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

export { mayBlock, pause } from "../wait.mjs";
export { role, url };
export const write = ledgerFile(folder, role);

/** True once the process was asked to end. */
export let ending = false;

/** The times are short, so that pauses are longer than leases and faults are noticed while the rig runs. */
export const times = { lease: "1500ms", poll: "200ms" };

export function createApp() {
  const app = new App();
  app.logger = process.env.CHAOS_LOG === "1" ? console : quiet;
  return app.enableDatabase({ url, poolSize: 8, statementTimeout: 5, connectTimeout: 3 });
}

/** Starts the application. A database that is away at the start ends the process: it is started again, as a service is. */
export async function start(app) {
  process.on("SIGTERM", async () => {
    ending = true;
    await app.stop().catch(() => {});
    process.exit(0);
  });
  try {
    await app.start();
  } catch {
    process.exit(ending ? 0 : notStarted);
  }
}

/** Repeats a call until it succeeds: its result may have been lost before. Gives up when the process ends. */
export async function persist(run) {
  while (!ending) {
    try {
      return await run();
    } catch {
      await pause(20 + Math.random() * 80);
    }
  }
  return undefined;
}

/** Runs loops side by side until the process ends. */
export async function repeat(count, run) {
  const loop = async (number) => {
    for (let n = 0; !ending; n++) await run(number, n);
  };
  await Promise.all(Array.from({ length: count }, (_, number) => loop(number)));
}
