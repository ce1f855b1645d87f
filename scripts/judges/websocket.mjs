/**
 * Judges WebSockets by the Autobahn test suite, against an echo route.
 *
 *     npm run build && node scripts/judges/websocket.mjs <command of wstest ...>
 *
 * For example `node scripts/judges/websocket.mjs python2 -m autobahntestsuite.wstest`. Takes some minutes. Sections 12 and
 * 13 are about compression of messages, which is off by default and enabled here.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMainThread, Worker, workerData } from "node:worker_threads";

if (isMainThread) await judge();
else await serve(workerData);

/** The echo route has its own thread, because this one waits for the suite. */
async function judge() {
  const port = await freePort();
  const server = new Worker(new URL(import.meta.url), { workerData: port });
  await new Promise((ready, failed) => server.once("message", ready).once("error", failed));
  const folder = mkdtempSync(join(tmpdir(), "stoa-autobahn-"));
  const spec = join(folder, "spec.json");
  const servers = [{ agent: "stoa", url: `ws://127.0.0.1:${port}/` }];
  const cases = process.env.AUTOBAHN_CASES?.split(",") ?? ["*"];
  writeFileSync(
    spec,
    JSON.stringify({ outdir: folder, servers, cases, "exclude-cases": [], "exclude-agent-cases": {} }),
  );
  const [command, ...args] = process.argv.slice(2);
  spawnSync(command, [...args, "-m", "fuzzingclient", "-s", spec], { stdio: ["ignore", "ignore", "inherit"] });
  const { stoa } = JSON.parse(readFileSync(join(folder, "index.json"), "utf8"));
  const counts = {};
  for (const [name, { behavior, behaviorClose }] of Object.entries(stoa)) {
    counts[behavior] = (counts[behavior] ?? 0) + 1;
    const isGood = /^(OK|NON-STRICT|INFORMATIONAL)$/.test(behavior) && /^(OK|INFORMATIONAL)$/.test(behaviorClose);
    if (isGood) continue;
    console.log(`${behavior}, close ${behaviorClose}: ${name}`);
    if (behavior !== "UNIMPLEMENTED") process.exitCode = 1;
  }
  console.log(Object.keys(stoa).length, counts, folder);
  await server.terminate();
}

async function serve(port) {
  const { App } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);
  const { parentPort } = await import("node:worker_threads");
  const app = new App();
  app.websocket("/", { origins: "*", maxMessageSize: 64 * 1024 * 1024, compression: true }, async (socket) => {
    for await (const message of socket) {
      if (message.text === null || message.text === undefined) await socket.sendBytes(message.bytes);
      else await socket.sendText(message.text);
    }
  });
  await app.run({ port, logs: false, exit: false });
  parentPort.postMessage("ready");
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
