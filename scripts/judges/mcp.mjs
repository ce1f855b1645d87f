/**
 * Judges the MCP endpoint by the official conformance suite (npm: @modelcontextprotocol/conformance, which needs Node 22), all
 * scenarios for servers.
 *
 *     node --import tsx scripts/judges/mcp.mjs <folder in which the suite is installed> [node]
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const [folder, node = process.execPath] = process.argv.slice(2);
const suite = join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const { App } = await import("stoa");
const { addEverything } = await import("../../test/apis/mcp/fixtures/everything.ts");
const { spawn } = await import("node:child_process");

const list = spawnSync(node, [suite, "list", "--server"], { encoding: "utf8" }).stdout;
const scenarios = [...list.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name);
const app = new App();
app.enableMcp();
addEverything(app);
const server = await app.run({ port: 0, exit: false, logs: false });
let failed = scenarios.length === 0 ? 1 : 0;
for (const name of scenarios) {
  const { output, code } = await judged(name);
  const [, passed, all, warnings] = /Passed: (\d+)\/(\d+), \d+ failed, (\d+) warnings/.exec(output) ?? [];
  const ok = code === 0 && passed === all && warnings === "0";
  if (!ok) failed++;
  console.log(`${ok ? "ok    " : "FAILED"}  ${name}${ok ? "" : `\n${output}`}`);
}
await server.close();
console.log(`${scenarios.length - failed} of ${scenarios.length} scenarios`);
process.exit(failed === 0 ? 0 : 1);

/** Not at once: the server is in this process. */
function judged(name) {
  const url = `${server.url.replace(/\/$/, "")}/mcp`;
  const suiteRun = spawn(node, [suite, "server", "--url", url, "--scenario", name]);
  let output = "";
  for (const stream of [suiteRun.stdout, suiteRun.stderr]) stream.on("data", (piece) => (output += piece));
  return new Promise((resolve) => suiteRun.on("close", (code) => resolve({ output, code })));
}
