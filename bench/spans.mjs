/**
 * CPU time per span: Stoa's spans against those of OpenTelemetry's SDK, both exported to the same collector. The span is
 * that of a server with a parent and six attributes. `node bench/spans.mjs [rounds]` after `npm run build`; the packages
 * of bench/ must be installed (`npm run bench` does that).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { startCollector } from "./lib/collector.mjs";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const spansPerRound = 20_000;
/** Spans between two exports: less than a batch, so that both export equally often. */
const spansPerExport = 500;
const inboxes = new Map();
const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const attributes = {
  "http.request.method": "GET",
  "http.route": "/books/{id}",
  "url.path": "/books/7",
  "url.scheme": "http",
  "http.response.status_code": 200,
  "client.address": "127.0.0.1",
};

const sides = {
  async stoa() {
    const { App } = await stoaEntry();
    const app = new App();
    app.enableTelemetry({ otlpEndpoint: process.env.BENCH_COLLECTOR, metrics: false });
    await app.start();
    const headers = (name) => (name === "traceparent" ? parent : undefined);
    const options = { kind: "server", from: headers };
    return {
      span: () => app.tracer.start("GET /books/{id}", attributes, options).end(),
      flush: () => app.tracer.flush(),
    };
  },
  async sdk() {
    const { propagation, ROOT_CONTEXT, SpanKind, trace } = await import("@opentelemetry/api");
    const { BatchSpanProcessor, NodeTracerProvider } = await import("@opentelemetry/sdk-trace-node");
    const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
    const exporter = new OTLPTraceExporter({ url: `${process.env.BENCH_COLLECTOR}/v1/traces` });
    const processor = new BatchSpanProcessor(exporter);
    new NodeTracerProvider({ spanProcessors: [processor] }).register();
    const tracer = trace.getTracer("bench");
    const carrier = { traceparent: parent };
    return {
      span() {
        const context = propagation.extract(ROOT_CONTEXT, carrier);
        tracer.startSpan("GET /books/{id}", { kind: SpanKind.SERVER, attributes }, context).end();
      },
      flush: () => processor.forceFlush(),
    };
  },
};

const [given = "9"] = process.argv.slice(2);
if (given in sides) await measure(await sides[given]());
else await compare(Number(given));

/** Prints the microseconds of CPU for each round. */
async function measure({ span, flush }) {
  for (;;) {
    const told = once(process, "message");
    process.send("ready");
    await told;
    const before = process.cpuUsage();
    for (let i = 1; i <= spansPerRound; i++) {
      span();
      if (i % spansPerExport === 0) await flush();
    }
    const { user, system } = process.cpuUsage(before);
    process.send((user + system) / spansPerRound);
  }
}

/** The next message of a child, also if it came before it was asked for. */
async function next(child) {
  const inbox = inboxes.get(child);
  while (inbox.length === 0) await once(child, "message");
  return inbox.shift();
}

async function compare(count) {
  await startCollector();
  const children = ["stoa", "sdk"].map((name) =>
    spawn(process.execPath, [import.meta.filename ?? new URL(import.meta.url).pathname, name], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    }),
  );
  for (const child of children) {
    child.on("exit", (code) => code !== null && process.exit(1));
    inboxes.set(child, []);
    child.on("message", (message) => inboxes.get(child).push(message));
  }
  const figures = [];
  // The first round compiles the code.
  for (let round = 0; round <= count; round++) {
    const pair = [];
    for (const child of children) {
      await next(child);
      child.send("go");
      pair.push(await next(child));
    }
    if (round > 0) figures.push(pair);
  }
  for (const child of children) child.kill();
  const ratios = figures.map(([stoa, sdk]) => stoa / sdk);
  console.log(`microseconds of CPU per span, median of ${count} rounds of ${spansPerRound}:`);
  console.log(`  stoa ${median(figures.map(([stoa]) => stoa)).toFixed(2)}`);
  console.log(`  sdk-trace-node ${median(figures.map(([, sdk]) => sdk)).toFixed(2)}`);
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  console.log(`  ratio ${median(ratios).toFixed(2)} (${low} to ${high})`);
}
