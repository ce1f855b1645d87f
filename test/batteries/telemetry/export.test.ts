import { once } from "node:events";
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { feature } from "stoa/feature";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Batch, BoundedBatches } from "../../../src/batteries/telemetry/export/batches.js";
import { Exporter } from "../../../src/batteries/telemetry/export/exporter.js";
import { GrpcTransport } from "../../../src/batteries/telemetry/export/grpc-transport.js";
import { HttpTransport, retryAfter } from "../../../src/batteries/telemetry/export/http-transport.js";
import { LossReport } from "../../../src/batteries/telemetry/export/loss-report.js";
import type { Outcome, Transport } from "../../../src/batteries/telemetry/export/transport.js";
import { readFields, readPartialSuccess } from "../../../src/batteries/telemetry/otlp/reader.js";
import { Writer } from "../../../src/batteries/telemetry/otlp/writer.js";
import { currentFrame } from "../../../src/batteries/telemetry/trace/context.js";
import fc from "../../support/properties.js";
import { startCollector, startGrpcCollector } from "./collector.js";
import { keepingLogger, traced } from "./traced.js";

const scope = { name: "test", version: "" };
const never = new AbortController().signal;

function queueOf(limits: { items: number; bytes?: number; batchItems?: number }) {
  const dropped: number[] = [];
  const queue = new BoundedBatches(
    { bytes: 1e9, batchItems: 2, ...limits },
    { first() {}, sealed() {}, dropped: (count) => dropped.push(count) },
  );
  const add = (size = 1): void => queue.add(scope, (writer: Writer) => writer.raw(new Uint8Array(size)), null);
  return { queue, add, dropped };
}

/** A transport whose outcomes are given; the last one repeats. */
function scripted(...outcomes: Outcome[]): Transport & { readonly sent: number } {
  let sent = 0;
  return {
    get sent() {
      return sent;
    },
    send: async () => outcomes[Math.min(sent++, outcomes.length - 1)]!,
    close() {},
  };
}

const ok: Outcome = { kind: "sent", rejected: 0, message: "" };
const later: Outcome = { kind: "later", reason: "busy", after: null };

describe("the line of batches", () => {
  it("The queue of batches is bounded by count and drops the oldest batch", () => {
    const { queue, add, dropped } = queueOf({ items: 4 });
    for (let i = 0; i < 7; i++) add();
    expect(dropped).toEqual([2, 2]);
    queue.seal();
    expect([queue.take()?.count, queue.take()?.count, queue.take()]).toEqual([2, 1, null]);
  });

  it("The queue of batches is bounded by bytes, also for one item that is larger than the bound", () => {
    const { queue, add, dropped } = queueOf({ items: 100, bytes: 1000, batchItems: 50 });
    add(600);
    add(600);
    expect(dropped).toEqual([2]);
    add(5000);
    expect(dropped).toEqual([2, 1]);
    expect(queue.clear()).toBe(0);
  });

  it("The queue of batches counts a batch that is being sent until it is done", () => {
    const { queue, add, dropped } = queueOf({ items: 4 });
    for (let i = 0; i < 2; i++) add();
    const sending = queue.take()!;
    for (let i = 0; i < 3; i++) add();
    expect(dropped).toEqual([2]);
    queue.done(sending);
    for (let i = 0; i < 3; i++) add();
    expect(dropped).toEqual([2]);
  });
});

describe("the exporter", () => {
  const exporterOf = (transport: Transport, count = 1) => {
    const { queue, add } = queueOf({ items: 1000 });
    for (let i = 0; i < count; i++) add();
    queue.seal();
    const lost: [number, string][] = [];
    const pauses: number[] = [];
    const exporter = new Exporter({
      queue,
      transport,
      resource: new Uint8Array(0),
      lost: (...loss) => lost.push(loss),
      pause: (attempt) => {
        pauses.push(attempt);
        return 0;
      },
    });
    return { exporter, lost, pauses };
  };

  it("The exporter repeats a batch that the collector cannot accept now, and sends it six times at most", async () => {
    const passing = scripted(later, later, ok);
    const first = exporterOf(passing);
    first.exporter.kick();
    await vi.waitFor(() => expect(passing.sent).toBe(3));
    expect(first.lost).toEqual([]);
    expect(first.pauses).toEqual([1, 2]);
    const failing = scripted(later);
    const second = exporterOf(failing, 2);
    second.exporter.kick();
    await vi.waitFor(() => expect(second.lost).toEqual([[2, "busy"]]));
    expect(failing.sent).toBe(6);
  });

  it("The exporter does not repeat a batch that the collector refuses, and continues with the next one", async () => {
    const transport = scripted({ kind: "refused", reason: "status 400" }, ok);
    const { exporter, lost } = exporterOf(transport, 3);
    exporter.kick();
    await vi.waitFor(() => expect(transport.sent).toBe(2));
    expect(lost).toEqual([[2, "status 400"]]);
  });

  it("The exporter counts the items that the collector rejects of a batch", async () => {
    const { exporter, lost } = exporterOf(scripted({ kind: "sent", rejected: 1, message: "too old" }), 2);
    await exporter.flush();
    expect(lost).toEqual([[1, "too old"]]);
  });

  it("The exporter stops at the first failure when the application ends, and counts the rest as lost", async () => {
    const transport = scripted(later);
    const { exporter, lost } = exporterOf(transport, 10);
    await exporter.close(60_000);
    expect(transport.sent).toBeLessThanOrEqual(2);
    expect(lost).toEqual([[10, "busy"]]);
  });

  it("The exporter runs outside of traces, so that no instrumentation records the export itself", async () => {
    const frames: unknown[] = [];
    const transport: Transport = {
      async send() {
        frames.push(currentFrame()?.quiet, currentFrame()?.span);
        return ok;
      },
      close() {},
    };
    await exporterOf(transport).exporter.flush();
    expect(frames).toEqual([true, null]);
  });

  it("The exporter keeps the process alive while it flushes", async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const { exporter } = exporterOf(scripted(ok), 3);
    const before = timers();
    const flushing = exporter.flush();
    expect(timers()).toBe(before + 1);
    await flushing;
    expect(timers()).toBe(before);
  });

  it("The exporter ends within its time when the collector never replies", async () => {
    const transport: Transport = {
      send: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(later));
        }),
      close() {},
    };
    const { exporter, lost } = exporterOf(transport, 3);
    await exporter.close(10);
    expect(lost).toEqual([[3, "the time for the last export was over"]]);
  });
});

describe("losses", () => {
  it("Losses are logged at most once a minute, with their number", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const logger = keepingLogger();
    const report = new LossReport(() => logger, "spans", "http://c");
    for (let i = 0; i < 1000; i++) {
      report.lost(5, "away");
      report.failed("away");
    }
    expect(logger.lines).toMatchObject([{ level: "warn", lost: 5, reason: "away" }]);
    vi.advanceTimersByTime(60_000);
    expect(logger.lines).toHaveLength(2);
    expect(logger.lines[1]).toMatchObject({ lost: 4995, lost_total: 5000 });
    expect(report.total).toBe(5000);
  });
});

/** A server that does as told with each connection. */
async function rawServer(onConnection: (socket: net.Socket) => void): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const bodyOf = (): Uint8Array[] => {
  const batch = new Batch(64);
  batch.from(scope);
  batch.writer.raw(new Uint8Array([0x12, 0]));
  return batch.body(new Uint8Array([0x0a, 0]));
};

it("A batch over HTTP for the port of a gRPC server fails with a hint at the protocol", async () => {
  // The settings of HTTP/2, which such a server sends first.
  const url = new URL(await rawServer((socket) => socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))));
  const transport = new HttpTransport({ url, headers: {}, timeout: 10_000, compression: "none", tls: {} });
  onTestFinished(() => transport.close());
  const outcome = await transport.send(bodyOf(), never);
  expect(outcome).toMatchObject({ kind: "later", reason: expect.stringContaining('set protocol: "grpc"') });
});

describe.each(["http", "grpc"] as const)("over %s", (kind) => {
  const open = (url: string, timeout = 10_000): Transport => {
    const options = { url: new URL(url), headers: { "x-key": "k" }, timeout, compression: "none" as const, tls: {} };
    const service = "opentelemetry.proto.collector.trace.v1.TraceService";
    const transport = kind === "http" ? new HttpTransport(options) : new GrpcTransport(options, service);
    onTestFinished(() => transport.close());
    return transport;
  };

  it("A batch for a collector that is not there is sent later", async () => {
    const outcome = await open("http://127.0.0.1:9").send(bodyOf(), never);
    expect(outcome).toMatchObject({ kind: "later", reason: expect.stringContaining("ECONNREFUSED") });
  });

  it("An attempt ends at the time limit if the collector accepts and never replies", async () => {
    const outcome = await open(await rawServer(() => {}), 50).send(bodyOf(), never);
    expect(outcome).toMatchObject({ kind: "later", reason: "no response within 50 ms" });
  });

  it("A batch is sent later if the collector closes the connection", async () => {
    const outcome = await open(await rawServer((socket) => socket.destroy())).send(bodyOf(), never);
    expect(outcome.kind).toBe("later");
  });

  it("A batch is sent later if the collector sends garbage", async () => {
    const url = await rawServer((socket) => {
      socket.on("data", () => socket.write(Buffer.from("\x00\xff garbage \r\n\r\n\x01")));
    });
    expect((await open(url, 2000).send(bodyOf(), never)).kind).toBe("later");
  });

  it("An aborted attempt ends at once", async () => {
    const abort = new AbortController();
    const sending = open(await rawServer(() => abort.abort())).send(bodyOf(), abort.signal);
    expect(await sending).toMatchObject({ kind: "later", reason: "the application ends" });
  });
});

describe("over http", () => {
  const open = (url: string, timeout = 10_000): HttpTransport => {
    const transport = new HttpTransport({ url: new URL(url), headers: {}, timeout, compression: "none", tls: {} });
    onTestFinished(() => transport.close());
    return transport;
  };

  it.each([
    [429, "later"],
    [502, "later"],
    [503, "later"],
    [504, "later"],
    [400, "refused"],
    [401, "refused"],
    [404, "refused"],
    [500, "refused"],
    [301, "refused"],
  ])("The HTTP status %d of a collector means %s", async (status, kind) => {
    await using collector = await startCollector();
    collector.respond = (_, response) => response.writeHead(status, { "retry-after": "7", location: "/" }).end();
    const outcome = await open(`${collector.url}/v1/traces`).send(bodyOf(), never);
    expect(outcome).toMatchObject({ kind, reason: `status ${status}` });
    if (outcome.kind === "later") expect(outcome.after).toBe(7000);
  });

  it("A response without end is read up to a limit, and counts by its status", async () => {
    const url = await rawServer((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        const piece = `4000\r\n${"x".repeat(0x4000)}\r\n`;
        const more = (): void => {
          while (!socket.destroyed && socket.write(piece)) {}
        };
        socket.on("drain", more);
        more();
      });
    });
    expect(await open(url).send(bodyOf(), never)).toMatchObject({ kind: "sent", rejected: 0 });
  });

  it("A partial success is read from the response of a collector", async () => {
    await using collector = await startCollector();
    const writer = new Writer(64);
    const partial = writer.begin(0x0a);
    writer.byte(0x08);
    writer.uint32(3);
    writer.byte(0x12);
    writer.string("too old");
    writer.join(partial);
    collector.respond = (_, response) => response.writeHead(200).end(writer.written);
    const outcome = await open(`${collector.url}/v1/traces`).send(bodyOf(), never);
    expect(outcome).toEqual({ kind: "sent", rejected: 3, message: "too old" });
  });

  it("The end of an application waits for a collector that does not respond for flushTimeout only", async () => {
    const silent = await startCollector();
    const waiting: { end(): unknown }[] = [];
    silent.respond = (_, response) => void waiting.push(response);
    const ended = async (flushTimeout: "50ms" | "10m"): Promise<string> => {
      const one = await traced((app) => void app.get("/", () => "x"), {
        collector: silent,
        telemetry: { flushTimeout },
      });
      await one.send("/");
      await one.app.stop();
      return flushTimeout;
    };
    const [short, long] = [ended("50ms"), ended("10m")];
    expect(await Promise.race([short, long])).toBe("50ms");
    silent.respond = null;
    for (const response of waiting) response.end();
    await long;
  });

  it("Retry-After is seconds or a date", () => {
    expect(retryAfter("120")).toBe(120_000);
    expect(retryAfter(new Date(Date.now() - 5000).toUTCString())).toBe(0);
    expect(retryAfter(new Date(Date.now() + 100_000).toUTCString())).toBeGreaterThan(50_000);
    expect(retryAfter("soon")).toBeNull();
    expect(retryAfter(undefined)).toBeNull();
  });

  it("An exported body can be compressed, and its headers carry a key", async () => {
    const collector = await startCollector();
    const { send, flush } = await traced((app) => app.get("/", () => "x"), {
      collector,
      telemetry: { compression: "gzip", headers: { "x-key": "k1" } },
    });
    await send("/");
    await flush();
    expect(collector.spans).toHaveLength(1);
    expect(collector.exports[0]!.headers).toMatchObject({
      "content-encoding": "gzip",
      "content-type": "application/x-protobuf",
      "x-key": "k1",
    });
  });
});

describe("over grpc", () => {
  it.each([
    [14, "later"],
    [4, "later"],
    [3, "refused"],
    [16, "refused"],
    [8, "refused"],
  ])("The gRPC status %d of a collector means %s", async (status, kind) => {
    await using collector = await startGrpcCollector(() => ({ status, trailers: { "grpc-message": "n%C3%B6" } }));
    const service = "opentelemetry.proto.collector.trace.v1.TraceService";
    const options = {
      url: new URL(collector.url),
      headers: {},
      timeout: 10_000,
      compression: "none" as const,
      tls: {},
    };
    const transport = new GrpcTransport(options, service);
    const outcome = await transport.send(bodyOf(), never);
    transport.close();
    expect(outcome).toMatchObject({ kind, reason: `gRPC status ${status}: nö` });
  });

  it("A batch is sent again at the time that an exhausted collector names", async () => {
    // google.rpc.Status { details: [Any { type_url, value: RetryInfo { retry_delay: Duration { seconds: 2 } } }] }
    const writer = new Writer(128);
    const any = writer.begin(0x1a);
    writer.byte(0x0a);
    writer.string("type.googleapis.com/google.rpc.RetryInfo");
    const info = writer.begin(0x12);
    const delay = writer.begin(0x0a);
    writer.byte(0x08);
    writer.uint32(2);
    for (const mark of [delay, info, any]) writer.join(mark);
    await using collector = await startGrpcCollector(() => ({
      status: 8,
      trailers: { "grpc-status-details-bin": writer.written.toString("base64") },
    }));
    const options = {
      url: new URL(collector.url),
      headers: {},
      timeout: 10_000,
      compression: "none" as const,
      tls: {},
    };
    const transport = new GrpcTransport(options, "opentelemetry.proto.collector.trace.v1.TraceService");
    const outcome = await transport.send(bodyOf(), never);
    transport.close();
    expect(outcome).toMatchObject({ kind: "later", after: 2000 });
  });

  it("Spans, metrics and logs arrive over gRPC", async () => {
    const collector = await startGrpcCollector();
    const { send, app, flush } = await traced((made) => made.get("/", () => "x"), {
      collector,
      telemetry: { protocol: "grpc", logs: true, headers: { "x-key": "k1" } },
    });
    await send("/");
    app.logger.info("done");
    await flush();
    expect(collector.spans.map(({ name }) => name)).toEqual(["GET /"]);
    expect(collector.logs.map(({ message }) => message)).toContain("done");
    expect(collector.metrics.map(({ name }) => name)).toContain("http.server.request.duration");
    expect(collector.exports[0]!.headers).toMatchObject({ "x-key": "k1", te: "trailers" });
  });
});

describe("over TLS", () => {
  const folder = new URL("../../server/fixtures/", import.meta.url);
  const [cert, key] = ["cert.pem", "key.pem"].map((name) => readFileSync(new URL(name, folder))) as [Buffer, Buffer];

  it.each(["http", "grpc"] as const)("%s trusts the authority that it is given, and no other", async (kind) => {
    let seen = 0;
    const answer = (_: unknown, response: { writeHead(status: number, headers?: object): void; end(): void }): void => {
      seen++;
      response.writeHead(200, kind === "grpc" ? { "grpc-status": "0" } : {});
      response.end();
    };
    const server =
      kind === "http" ? https.createServer({ cert, key }, answer) : http2.createSecureServer({ cert, key }, answer);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const send = async (tls: { ca?: Buffer }): Promise<Outcome> => {
      const url = new URL(`https://localhost:${(server.address() as AddressInfo).port}`);
      const options = { url, headers: {}, timeout: 10_000, compression: "none" as const, tls };
      const transport = kind === "http" ? new HttpTransport(options) : new GrpcTransport(options, "x.TraceService");
      const outcome = await transport.send(bodyOf(), never);
      transport.close();
      return outcome;
    };
    expect(await send({})).toMatchObject({ kind: "later", reason: expect.stringContaining("certificate") });
    expect(seen).toBe(0);
    expect(await send({ ca: cert })).toMatchObject({ kind: "sent" });
    expect(seen).toBe(1);
  });
});

describe("messages of a collector", () => {
  it("A message of a collector with any bytes is read without an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        readFields(bytes);
        expect(readPartialSuccess(bytes).rejected).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe("an application whose collector is away", () => {
  it("An application whose collector is away serves requests, keeps a bounded number of spans, logs few warnings and ends", async () => {
    const collector = await startCollector();
    await collector.close();
    vi.stubEnv("OTEL_BSP_MAX_QUEUE_SIZE", "20");
    vi.stubEnv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { send, close, lines, app } = await traced((made) => made.enableMetrics().get("/", () => "x"), {
      collector,
      telemetry: { metrics: false },
    });
    for (let i = 0; i < 100; i++) expect((await send("/")).status).toBe(200);
    const shown = (await send("/metrics")).text;
    expect(Number(/telemetry_lost_total\{signal="traces"\} (\d+)/.exec(shown)![1])).toBeGreaterThan(50);
    const warnings = lines.filter(({ message }) => message.startsWith("telemetry:"));
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.length).toBeLessThanOrEqual(2);
    await close();
    expect(app.phase).toBe("stopped");
    const lost = lines.filter(({ lost_total }) => lost_total !== undefined).at(-1);
    expect(lost).toMatchObject({ lost_total: 100, reason: expect.stringContaining("ECONNREFUSED") });
  });

  it("An application exports waiting spans and metrics when it ends", async () => {
    const { send, close, collector } = await traced((app) => app.get("/", () => "x"));
    await send("/");
    expect(collector.exports).toEqual([]);
    await close();
    expect(collector.spans.map(({ name }) => name)).toEqual(["GET /"]);
    expect(collector.metrics.map(({ name }) => name)).toEqual(["http.server.request.duration"]);
  });

  it("Gauges are not asked before the application has started, however long that takes", async () => {
    let hasStarted = false;
    const asked: boolean[] = [];
    const { collector } = await traced(
      (app) => {
        app.metrics.gauge("books", {
          help: "Books.",
          collect: () => {
            asked.push(hasStarted);
            return 7;
          },
        });
        app.onEvent("startup", async () => {
          // A timer of the same length fires after one that is older.
          for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 20));
          hasStarted = true;
        });
      },
      { telemetry: { metricInterval: 0.02 } },
    );
    await vi.waitFor(() => expect(collector.metrics.map(({ name }) => name)).toContain("books"));
    expect(asked).not.toContain(false);
  });

  it("At the end gauges are asked while the engines are open, and spans of what they ask are exported", async () => {
    let isOpen = false;
    const engine = feature({
      name: "shelf",
      isEngine: true,
      open: () => void (isOpen = true),
      close: () => void (isOpen = false),
    });
    const { close, collector, lines } = await traced((app) => {
      app.install(engine);
      app.metrics.gauge("books", {
        help: "Books.",
        collect: () =>
          app.tracer.span("count", async () => {
            if (!isOpen) throw new Error("the shelf is closed");
            return 7;
          }),
      });
    });
    await close();
    expect(collector.metrics.map(({ name }) => name)).toContain("books");
    expect(collector.spans.map(({ name }) => name)).toEqual(["count"]);
    expect(lines.filter(({ level }) => level !== "info")).toEqual([]);
  });

  it("An application exports a full batch at once", async () => {
    vi.stubEnv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "3");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { send, collector } = await traced((app) => app.get("/", () => "x"));
    for (let i = 0; i < 7; i++) await send("/");
    await vi.waitFor(() => expect(collector.spans).toHaveLength(6));
  });
});
