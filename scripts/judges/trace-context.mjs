/**
 * Runs the W3C suite for Trace Context against a service of ours, with sampling on and off. The suite is not part of this
 * repository: clone https://github.com/w3c/trace-context and install aiohttp for Python first.
 *
 *     npm run build && node scripts/judges/trace-context.mjs <clone>/test [python]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

const [suite, python = "python3"] = process.argv.slice(2);
if (suite === undefined) {
  console.error("usage: node scripts/judges/trace-context.mjs <folder of the suite> [python]");
  process.exit(2);
}
const { App } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);

for (const samplingRate of [1, 0]) {
  const server = await service(samplingRate);
  console.log(`sampling rate ${samplingRate}:`);
  const env = { ...process.env, SPEC_LEVEL: "2", HARNESS_PORT: "15601" };
  const child = spawn(python, ["test.py", `${server.url}/test`], { cwd: suite, env, stdio: "inherit" });
  const [code] = await once(child, "close");
  if (code !== 0) process.exitCode = 1;
  await server.close();
}

/** The service of the suite: it sends each request that it is told to send. */
function service(samplingRate) {
  const app = new App();
  app.enableTelemetry({ samplingRate, traces: samplingRate === 1, metrics: false, flushTimeout: 0 });
  app.post("/test", async (request) => {
    for (const { url, arguments: body } of request.json()) {
      const headers = { "content-type": "application/json" };
      await fetch(url, { method: "POST", body: JSON.stringify(body), headers });
    }
    return {};
  });
  return app.run({ port: 0, exit: false, logs: false, env: "production" });
}
