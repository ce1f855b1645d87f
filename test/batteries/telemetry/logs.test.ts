import { createLogger } from "stoa";
import { describe, expect, it } from "vitest";
import { collect } from "../../logging/collect.js";
import { keepingLogger, traced } from "./traced.js";

describe("log lines", () => {
  it("Lines of app.logger, of request.log and of the request log carry the ids of the trace", async () => {
    const sink = collect();
    const { send, flush, collector } = await traced(
      (app) => {
        app.enableLogging().enableRequestId();
        app.get("/", async (request) => {
          await null;
          app.logger.info("from the application");
          request.log.info("from the request");
          return app.tracer.span("inner", () => app.logger.info("from a span"));
        });
      },
      { logger: createLogger({ sink, format: "json" }), logs: true },
    );
    await send("/", { headers: { "x-request-id": "r1" } });
    await flush();
    const [inner, server] = collector.spans;
    const lines = sink.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg !== "listening");
    const ids = { trace_id: server!.traceId, span_id: server!.spanId };
    expect(lines).toMatchObject([
      { msg: "from the application", ...ids },
      { msg: "from the request", request_id: "r1", ...ids },
      { msg: "from a span", trace_id: server!.traceId, span_id: inner!.spanId },
      { msg: "request", path: "/", status: 204, request_id: "r1", trace_id: server!.traceId },
    ]);
  });

  it("A log line outside of traces has no ids of a trace", async () => {
    const sink = collect();
    const { app } = await traced(() => {}, { logger: createLogger({ sink }) });
    app.logger.info("alone");
    expect(JSON.parse(sink.lines.at(-1)!)).not.toHaveProperty("trace_id");
  });

  it("A line of request.log has the trace id with a logger of the application too", async () => {
    const { send, lines } = await traced((app) =>
      app.get("/", (request) => {
        request.log.info("here");
        return request.span.traceId;
      }),
    );
    const trace = (await send("/")).text;
    expect(lines.find(({ message }) => message === "here")).toMatchObject({ trace_id: trace });
  });
});

describe("exported logs", () => {
  it("An exported log record has level, text, fields, error and trace, without secrets", async () => {
    const { send, flush, collector } = await traced(
      (app) =>
        app.get("/", (request) => {
          request.log.warn("low stock", { sku: "x", left: 2, deep: { a: [1, null, "b"] }, password: "hunter2" });
          app.logger.error("failed", { error: Object.assign(new TypeError("bad"), { code: "E1" }) });
          return "x";
        }),
      { telemetry: { logs: true } },
    );
    await send("/");
    await flush();
    const [server] = collector.spans;
    const [low, failed] = collector.logs.filter(({ severity }) => severity > 9);
    expect(low).toMatchObject({
      message: "low stock",
      severity: 13,
      severityText: "WARN",
      traceId: server!.traceId,
      spanId: server!.spanId,
      flags: 3,
      attributes: { sku: "x", left: 2, deep: { a: [1, null, "b"] }, password: "[redacted]", method: "GET", path: "/" },
    });
    expect(low.attributes).not.toHaveProperty("trace_id");
    expect(failed).toMatchObject({
      severity: 17,
      attributes: { "exception.type": "TypeError", "exception.message": "bad", error: { code: "E1" } },
    });
  });

  it("Log records are exported from the given level on, and none by default", async () => {
    const errors = await traced(() => {}, { telemetry: { logs: "error" } });
    errors.app.logger.warn("no");
    errors.app.logger.error("yes");
    await errors.flush();
    expect(errors.collector.logs.map(({ message }) => message)).toEqual(["yes"]);
    await errors.close();
    const none = await traced(() => {});
    none.app.logger.error("no");
    await none.flush();
    expect(none.collector.logs).toEqual([]);
    expect(none.lines).toMatchObject([{ message: "no" }]);
  });

  it("The export of logs leaves the application's own logger in place, children included", async () => {
    const logger = keepingLogger();
    const { app, flush, collector } = await traced(() => {}, { telemetry: { logs: true }, logger });
    app.logger.child({ a: 1 }).child({ b: 2 }).info("both", { c: 3 });
    await flush();
    expect(logger.lines.at(-1)).toEqual({ level: "info", message: "both", a: 1, b: 2, c: 3 });
    expect(collector.logs.at(-1)).toMatchObject({ message: "both", attributes: { a: 1, b: 2, c: 3 } });
  });

  it("Exported logs contain the lines of the request log", async () => {
    const { send, flush, collector } = await traced((app) => app.enableLogging().get("/", () => "x"), {
      telemetry: { logs: true },
      logs: true,
    });
    await send("/");
    await flush();
    expect(collector.logs.find(({ message }) => message === "request")).toMatchObject({
      attributes: { method: "GET", path: "/", status: 200 },
      traceId: collector.spans[0]!.traceId,
    });
  });
});
