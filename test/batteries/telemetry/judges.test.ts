import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { App } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { service } from "../../support/service.js";
import { type Collector, startCollector } from "./collector.js";
import { traced } from "./traced.js";

const rotel = service("rotel");
const python = service("otlp");

/** Something of each kind that is exported. */
function everything(app: App): void {
  app.metrics.counter("orders_total", { help: "Orders.", labels: ["country"] }).inc({ country: 'd"e\n' }, 2);
  app.metrics.gauge("stock", { help: "Stock." }).set(-1.5);
  app.metrics.histogram("work_seconds", { help: "Work.", buckets: [0.1, 1] }).observe(0.3);
  app.get("/books/{id}", async (request) => {
    request.span.set("list", ["x", "ü"]).set("long", "x".repeat(20_000)).event("looked up", { n: 1 });
    app.logger.warn("low", { deep: { a: [1, null, 2.5] } });
    await app.tracer.span("child", { negative: -5, fraction: 1.5, yes: true }, async () => null);
    throw new TypeError("bad é\u{1f600}");
  });
}

const headers = { traceparent: "00-12345678901234567890123456789012-1234567890123456-03", tracestate: "foo=1" };

describe.skipIf(!rotel)("Rotel", () => {
  it.each(["http/protobuf", "grpc"] as const)(
    "Rotel decodes the spans, logs and metrics that are exported over %s",
    async (protocol) => {
      const { http, grpc, output } = JSON.parse(rotel!) as Record<"http" | "grpc" | "output", string>;
      const name = `judged ${protocol} ${process.pid}`;
      const { send, flush } = await traced(everything, {
        telemetry: { otlpEndpoint: protocol === "grpc" ? grpc : http, protocol, serviceName: name, logs: true },
      });
      await send("/books/3", { headers });
      await flush();
      await vi.waitFor(
        async () => {
          const parts = (await readFile(output, "utf8")).split(/^(?=Resource(?:Spans|Log|Metrics) #)/m);
          const own = parts.filter((part) => part.includes(`service.name: Str(${name})`));
          const [spans, logs, metrics] = ["ResourceSpans", "ResourceLog", "ResourceMetrics"].map((kind) =>
            own.find((part) => part.startsWith(kind)),
          );
          expect(spans).toMatch(/Trace ID +: 12345678901234567890123456789012\n +Parent ID +: 1234567890123456\n/);
          expect(spans).toMatch(/Name +: GET \/books\/\{id\}\n +Kind +: SPAN_KIND_SERVER\n +TraceState +: foo=1/);
          expect(spans).toContain("Status code    : STATUS_CODE_ERROR");
          expect(spans).toContain("-> http.response.status_code: Int(500)");
          expect(spans).toContain("-> list: Slice(Str(x), Str(ü))");
          expect(spans).toContain("-> exception.message: Str(bad é\u{1f600})");
          expect(spans).toContain("-> negative: Int(-5)");
          expect(spans).toContain("-> fraction: Double(1.5)");
          expect(logs).toContain("Body: Str(low)");
          expect(logs).toContain("-> deep: Map(a:Slice(Int(1), Empty, Double(2.5)))");
          expect(metrics).toContain("-> Name: http.server.request.duration");
          expect(metrics).toContain("-> Name: orders_total");
        },
        { timeout: 20_000 },
      );
    },
  );
});

const program = `
import sys, json, base64
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
types = {"traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest, "logs": ExportLogsServiceRequest}
def known(message):
    # An unknown field would be a wrong number.
    again = type(message)()
    again.ParseFromString(message.SerializeToString())
    message.DiscardUnknownFields()
    return message.SerializeToString() == again.SerializeToString()
for line in sys.stdin:
    signal, body = line.split()
    message = types[signal]()
    message.ParseFromString(base64.b64decode(body))
    assert known(message), "unknown fields"
    print(json.dumps({"signal": signal, "message": MessageToDict(message)}))
`;

async function decodedByPython({ exports }: Collector): Promise<Record<string, string>> {
  const child = spawn(python!, ["-c", program], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (piece: Buffer) => {
    output += piece;
  });
  child.stdin.end(exports.map(({ signal, body }) => `${signal} ${body.toString("base64")}\n`).join(""));
  const [code] = (await once(child, "close")) as [number];
  expect(code).toBe(0);
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { signal: string; message: object });
  return Object.fromEntries(lines.map(({ signal, message }) => [signal, JSON.stringify(message)]));
}

describe.skipIf(!python)("the official messages", () => {
  it("The official messages of OpenTelemetry decode every export, with no unknown field", async () => {
    const collector = await startCollector();
    const { send, flush } = await traced(everything, { collector, telemetry: { logs: true } });
    await send("/books/3", { headers });
    await flush();
    const { traces, metrics, logs } = await decodedByPython(collector);
    expect(traces).toContain('"name":"GET /books/{id}","kind":"SPAN_KIND_SERVER"');
    expect(traces).toContain('"status":{"code":"STATUS_CODE_ERROR"}');
    expect(traces).toContain('{"key":"negative","value":{"intValue":"-5"}}');
    expect(traces).toContain('"traceState":"foo=1"');
    expect(traces).toContain("x".repeat(16_384));
    expect(metrics).toContain('"aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE","isMonotonic":true');
    expect(metrics).toContain('"bucketCounts":["0","1","0"],"explicitBounds":[0.1,1.0]'.replace("1.0", "1"));
    expect(metrics).toContain('{"key":"country","value":{"stringValue":"d\\"e\\n"}}');
    expect(logs).toContain(
      '"severityNumber":"SEVERITY_NUMBER_WARN","severityText":"WARN","body":{"stringValue":"low"}',
    );
  });
});
