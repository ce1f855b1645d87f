/**
 * Judges the parser of JSON bodies by nst/JSONTestSuite: files that begin with `y_` must be accepted, `n_` refused with
 * 400, and `i_` (left open by RFC 8259) may be either.
 *
 *     npm run build && node scripts/judges/json.mjs <folder of JSONTestSuite>
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const { App } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);
const folder = join(process.argv[2], "test_parsing");
const app = new App();
app.post("/", (request) => ({ type: typeof request.json() }));
const server = await app.run({ port: 0, logs: false });

const counts = {};
for (const name of readdirSync(folder)) {
  const headers = { "content-type": "application/json" };
  const { status } = await fetch(server.url, { method: "POST", headers, body: readFileSync(join(folder, name)) });
  const kind = name.slice(0, 2);
  counts[kind] ??= {};
  counts[kind][status] = (counts[kind][status] ?? 0) + 1;
  const allowed = { y_: [200], n_: [400], i_: [200, 400] }[kind];
  if (!allowed.includes(status)) {
    console.log(`FAILED  ${name}: ${status}`);
    process.exitCode = 1;
  }
}
console.log(counts);
await server.close();
