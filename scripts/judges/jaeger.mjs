/**
 * Exports a trace to Jaeger over HTTP and over gRPC and compares what Jaeger gives back. Jaeger is built once with Go, which takes
 * minutes, and kept.
 *
 *     npm run build && node scripts/judges/jaeger.mjs [program of Jaeger's all-in-one]
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "../process.mjs";
import { freePort } from "../services/ports.mjs";

const kept = join(root, "node_modules", ".cache", "stoa", "jaeger");
const program = process.argv[2] ?? join(kept, "all-in-one");
if (!existsSync(program)) await build();

const { App } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);
const [http, grpc, query, ...others] = await Promise.all(Array.from({ length: 12 }, freePort));
const child = await start();
try {
  await exported("http/protobuf", http);
  await exported("grpc", grpc);
} finally {
  child.kill("SIGKILL");
}

async function build() {
  console.log("building Jaeger ...");
  const env = { ...process.env, GOBIN: kept };
  const module = "github.com/jaegertracing/jaeger/cmd/all-in-one@v1.42.0";
  const { code, output } = await run("go", ["install", module], { env, timeout: 1_800_000 });
  if (code !== 0) throw new Error(`go install failed: ${output.trim().split("\n").at(-1)}`);
}

/** Each of its servers gets its own port on the loopback. */
async function start() {
  const places = [
    "collector.grpc-server.host-port",
    "collector.http-server.host-port",
    "collector.zipkin.host-port",
    "query.grpc-server.host-port",
    "admin.http.host-port",
    "http-server.host-port",
    "processor.jaeger-binary.server-host-port",
    "processor.jaeger-compact.server-host-port",
    "processor.zipkin-compact.server-host-port",
  ];
  const flags = places.map((place, i) => `--${place}=127.0.0.1:${others[i]}`);
  const own = [
    "--collector.otlp.enabled=true",
    `--collector.otlp.http.host-port=127.0.0.1:${http}`,
    `--collector.otlp.grpc.host-port=127.0.0.1:${grpc}`,
    `--query.http-server.host-port=127.0.0.1:${query}`,
  ];
  const env = { ...process.env, SPAN_STORAGE_TYPE: "memory" };
  const jaeger = spawn(program, [...own, ...flags], { env, stdio: ["ignore", "ignore", "pipe"] });
  let complaint = "";
  jaeger.stderr.setEncoding("utf8").on("data", (text) => {
    complaint = (complaint + text).slice(-2000);
  });
  const gone = once(jaeger, "exit").then(() => {
    throw new Error(`Jaeger ended: ${complaint}`);
  });
  gone.catch(() => {});
  await Promise.race([gone, until(async () => (await fetch(`http://127.0.0.1:${query}/api/services`)).ok)]);
  return jaeger;
}

async function exported(protocol, port) {
  const app = new App();
  const quiet = { debug() {}, info() {}, warn: console.warn, error() {}, child: () => quiet };
  app.logger = quiet;
  app.enableTelemetry({ otlpEndpoint: `http://127.0.0.1:${port}`, protocol, serviceName: "judged", metrics: false });
  app.get("/books/{id}", async (request) => {
    request.span.set("list", ["x", "\u00fc"]).event("looked up", { n: 1 });
    await app.tracer.span("child", { negative: -5, fraction: 1.5, yes: true }, async () => null);
    throw new TypeError(`bad ${request.span.traceId}`);
  });
  let traceId = "";
  app.use((request, next) => {
    traceId = request.span.traceId;
    return next();
  });
  await app.request("/books/3");
  await app.tracer.flush();
  const url = `http://127.0.0.1:${query}/api/traces/${traceId}`;
  const spans = await until(async () => {
    const found = (await (await fetch(url)).json()).data?.[0]?.spans;
    return found?.length === 2 && found;
  });
  await app.stop();
  const server = spans.find(({ operationName }) => operationName === "GET /books/{id}");
  const inner = spans.find(({ operationName }) => operationName === "child");
  assert.equal(inner.references[0].spanID, server.spanID);
  const tags = Object.fromEntries(server.tags.map(({ key, value }) => [key, value]));
  assert.equal(tags["span.kind"], "server");
  assert.equal(tags["http.response.status_code"], 500);
  assert.equal(tags["otel.status_code"], "ERROR");
  assert.equal(tags["error.type"], "TypeError");
  assert.equal(tags.list, '["x","\u00fc"]');
  const fields = server.logs.map((log) => Object.fromEntries(log.fields.map(({ key, value }) => [key, value])));
  assert.deepEqual([fields[0].event, fields[0].n], ["looked up", 1]);
  assert.equal(fields[1]["exception.message"], `bad ${traceId}`);
  const values = Object.fromEntries(inner.tags.map(({ key, value }) => [key, value]));
  assert.deepEqual([values.negative, values.fraction, values.yes], [-5, 1.5, true]);
  assert.ok(inner.startTime >= server.startTime && inner.duration <= server.duration);
  console.log(`Jaeger gave back the trace that it got over ${protocol}`);
}

async function until(check) {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const result = await check().catch(() => false);
    if (result) return result;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("Jaeger did not reply in time");
}
