/**
 * Judges the response cache by http-tests/cache-tests: an application with `enableCaching()` passes every request on to
 * the server of the suite.
 *
 *     npm run build && node scripts/judges/caching.mjs <folder of cache-tests>
 *
 * Prints the number of tests by kind and result, and the ids of those that are required and fail.
 */
import { spawn } from "node:child_process";
import { request as send } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const load = (path) => import(pathToFileURL(join(folder, path)).href);
const { App, Response } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);
const { default: suites } = await load("tests/index.mjs");
const { getResults, runTests } = await load("test-engine/client/runner.mjs");
const { determineTestResult, resultTypes } = await load("test-engine/lib/results.mjs");

const hopByHop = /^(connection|keep-alive|transfer-encoding|content-length)$/i;
const port = await freePort();
const env = {
  ...process.env,
  npm_config_protocol: "http",
  npm_config_port: String(port),
  npm_config_pidfile: join(tmpdir(), `stoa-cache-tests-${process.pid}`),
};
const origin = spawn(process.execPath, ["test-engine/server/server.mjs"], { cwd: folder, env, stdio: "ignore" });
const app = new App();
// Without its own lifetime a response is not cached: the suite has its own idea of heuristics.
app.enableCaching({ ttl: 0 });
app.route("/{rest:*}", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "M-SEARCH"], forward);
const server = await app.run({ port: 0, logs: false, requestTimeout: 60 });
try {
  await reachable();
  await runTests(suites, false, server.url);
  report(getResults());
} finally {
  origin.kill();
  await server.close();
}
process.exit();

/** One request to the server of the suite, with the fields as they are. */
function forward(request) {
  return new Promise((resolve, reject) => {
    const headers = {};
    for (const [name, value] of request.headers) {
      if (!/^(connection|host|transfer-encoding)$/i.test(name)) headers[name] = value;
    }
    const sent = send({ port, method: request.method, path: request.target, headers }, (received) => {
      const chunks = [];
      received.on("data", (chunk) => chunks.push(chunk)).on("error", reject);
      received.on("end", () => {
        const fields = new Headers();
        const hops = (received.headers.connection ?? "").toLowerCase().split(/, */);
        for (let i = 0; i < received.rawHeaders.length; i += 2) {
          const [name, value] = received.rawHeaders.slice(i, i + 2);
          const isHop = hops.includes(name.toLowerCase()) || hopByHop.test(name);
          if (!isHop) fields.append(name, value);
        }
        const body = [204, 304].includes(received.statusCode) ? null : Buffer.concat(chunks);
        try {
          resolve(new Response(body, { status: received.statusCode, headers: fields }));
        } catch (error) {
          // Status 999, which no application can send.
          reject(error);
        }
      });
    });
    sent.on("error", reject);
    sent.end(request.bytes());
  });
}

function report(results) {
  const counts = {};
  const failed = [];
  for (const { id, kind = "required" } of suites.flatMap(({ tests }) => tests)) {
    const result = determineTestResult(suites, id, results);
    const name = Object.keys(resultTypes).find((key) => resultTypes[key] === result);
    counts[kind] ??= {};
    counts[kind][name] = (counts[kind][name] ?? 0) + 1;
    if (kind === "required" && !["pass", "untested", "dependency_fail"].includes(name)) {
      failed.push(`${id} (${name}): ${results[id]?.[1]}`);
    }
  }
  console.log(counts);
  for (const line of failed) console.log(`  ${line}`);
  if (failed.length > 0) process.exitCode = 1;
}

async function reachable() {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (
      await fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((next) => setTimeout(next, 100));
  }
  throw new Error("the server of the suite does not start");
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
