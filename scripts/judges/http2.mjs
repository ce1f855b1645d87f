/**
 * Judges HTTP/2 by h2spec and curl. h2spec runs against a bare node:http2 server, against ours and against the port of
 * gRPC, without and with TLS: ours may fail nothing that the bare one passes. The cases that both fail are known faults of nghttp2 in Node. Builds
 * h2spec with `go install` if it is not found; takes about a minute. curl must be one with HTTP/2.
 *
 *     npm run build && node scripts/judges/http2.mjs [path of h2spec]
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createSecureServer, createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Times that each side is judged: some cases depend on the order in which frames leave. */
const rounds = 3;
/** On a port that also speaks HTTP/1.1, bytes that are no preface get a response of HTTP/1.1, with status 400. */
const shared = "Sends invalid connection preface";

const h2spec = findH2spec(process.argv[2]);
const { App } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);
const fixture = (name) => readFileSync(new URL(`../../test/server/fixtures/${name}`, import.meta.url), "utf8");
const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };

for (const secure of [false, true]) {
  const bare = await startBare(secure);
  const ours = await startOurs(secure);
  const grpc = await startGrpc(secure);
  const ofBare = new Set();
  for (let i = 0; i < rounds; i++) for (const name of await judge(bare.port, secure)) ofBare.add(name);
  for (const [what, port] of [
    ["ours", ours.address.port],
    ["gRPC", grpc.port],
  ]) {
    // A fault counts if it shows every time.
    let failed = await judge(port, secure);
    for (let i = 1; i < rounds; i++) {
      const names = await judge(port, secure);
      failed = new Set([...failed].filter((name) => names.has(name)));
    }
    const worse = [...failed].filter((name) => !ofBare.has(name) && (secure || name !== shared));
    console.log(`${secure ? "with" : "without"} TLS: h2spec fails ${failed.size} cases of ${what}`);
    for (const name of failed) console.log(`  ${worse.includes(name) ? "WORSE" : "as bare"}: ${name}`);
    if (worse.length > 0) process.exitCode = 1;
  }
  await curl(ours.url, secure);
  bare.close();
  await ours.close();
  await grpc.close();
}
process.exit();

async function judge(port, secure) {
  const flags = ["-h", "127.0.0.1", "-p", String(port), "-o", "1", ...(secure ? ["-t", "-k"] : [])];
  // It exits with 1 if a case fails.
  const { stdout } = await run(h2spec, flags, { maxBuffer: 1e8 }).catch((error) => error);
  if (!/\d+ tests, \d+ passed/.test(stdout)) throw new Error(`h2spec did not run:\n${stdout}`);
  const summary = stdout.slice(stdout.indexOf("Failures:"));
  return new Set([...summary.matchAll(/× \d+: (.*)/g)].map(([, name]) => name.trim()));
}

async function curl(url, secure) {
  const flags = secure ? ["--http2", "-k"] : ["--http2-prior-knowledge"];
  const asked = [
    ["2", [...flags, url]],
    ["2", [...flags, "-d", "x".repeat(100_000), `${url}/size`]],
    ["1.1", ["--http1.1", "-k", url]],
    // `Upgrade: h2c` is ignored, as RFC 9113 says.
    ["1.1", secure ? ["--http1.1", "-k", url] : ["--http2", url]],
  ];
  for (const [version, args] of asked) {
    const { stdout } = await run("curl", ["-sS", "-w", " %{http_version} %{http_code}", ...args]);
    if (!stdout.endsWith(` ${version} 200`)) throw new Error(`curl ${args.at(-1)}: ${stdout}, not HTTP/${version}`);
  }
  console.log(`  curl: ${asked.length} requests as expected`);
}

async function startOurs(secure) {
  const app = new App();
  app.get("/", () => "hello");
  app.post("/", (request) => request.bytes().length);
  app.post("/size", (request) => request.bytes().length);
  return app.run({ port: 0, exit: false, logs: false, http2: true, ...(secure && { tls }) });
}

async function startGrpc(secure) {
  const app = new App();
  app.enableGrpc({ address: "127.0.0.1:0", ...(secure && { tls }) }).addGrpcService("judged");
  const server = await app.run({ port: 0, exit: false, logs: false });
  return { port: Number(app.grpc.address.split(":").at(-1)), close: () => server.close() };
}

async function startBare(secure) {
  const server = secure ? createSecureServer(tls) : createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "text/plain" });
    stream.end("hello");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, close: () => server.close() };
}

function findH2spec(given) {
  if (given !== undefined) return given;
  const folder = join(tmpdir(), "stoa-judges");
  const file = join(folder, "h2spec");
  if (!existsSync(file)) {
    const env = { ...process.env, GOBIN: folder };
    execFileSync("go", ["install", "github.com/summerwind/h2spec/cmd/h2spec@latest"], { env, stdio: "inherit" });
  }
  return file;
}
