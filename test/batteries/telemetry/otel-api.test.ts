import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { keepingLogger, traced } from "./traced.js";

const tracer = trace.getTracer("a-library", "1.2.3");

describe("code that uses @opentelemetry/api", () => {
  it("Spans of @opentelemetry/api are children of the request's span, under the name of their library", async () => {
    const { send, flush, collector } = await traced((app) =>
      app.get("/", async () => {
        await null;
        return tracer.startActiveSpan(
          "query",
          { kind: SpanKind.CLIENT, attributes: { "db.name": "x" } },
          async (span) => {
            await null;
            span.setAttribute("rows", 3).addEvent("first row", { at: 1 });
            span.setStatus({ code: SpanStatusCode.ERROR, message: "no" });
            span.recordException(new TypeError("bad"));
            app.tracer.span("ours", () => null);
            span.end();
            return span.spanContext().spanId;
          },
        );
      }),
    );
    const id = (await send("/")).text;
    await flush();
    const [ours, query, server] = collector.spans;
    expect(query).toMatchObject({
      name: "query",
      spanId: id,
      kind: 3,
      scope: "a-library",
      parentSpanId: server!.spanId,
      traceId: server!.traceId,
      attributes: { "db.name": "x", rows: 3 },
      status: { code: 2, message: "no" },
      events: [{ name: "first row" }, { name: "exception", attributes: { "exception.type": "TypeError" } }],
    });
    expect(ours).toMatchObject({ parentSpanId: query!.spanId, scope: "stoa" });
    expect(server!.scope).toBe("stoa");
  });

  it("Code that uses @opentelemetry/api finds the span of the request as the active one, and changes it", async () => {
    const { send, flush, collector } = await traced((app) =>
      app.get("/", (request) => {
        const active = trace.getActiveSpan()!;
        active.setAttribute("found", true);
        active.updateName("renamed");
        return { same: active.spanContext().spanId === request.span.spanId, recording: active.isRecording() };
      }),
    );
    expect(JSON.parse((await send("/")).text)).toEqual({ same: true, recording: true });
    await flush();
    expect(collector.spans[0]).toMatchObject({ name: "renamed", attributes: { found: true } });
  });

  it("Code that uses @opentelemetry/api passes traces on by itself, and continues traces that it has read", async () => {
    const { send, flush, collector } = await traced((app) =>
      app.get("/", () => {
        const carrier: Record<string, string> = {};
        const withValue = propagation.setBaggage(context.active(), propagation.createBaggage({ k: { value: "v 1" } }));
        context.with(withValue, () => {
          propagation.inject(context.active(), carrier);
          app.tracer.span("inside", (span) => span.set("k", app.tracer.baggage["k"]));
        });
        const read = propagation.extract(context.active(), {
          traceparent: "00-12345678901234567890123456789012-1234567890123456-01",
          tracestate: "foo=1",
          baggage: "from=there",
        });
        context.with(read, () => tracer.startSpan("continued").end());
        context.with(read, () => app.tracer.span("also", (span) => span.set("from", app.tracer.baggage["from"])));
        return carrier;
      }),
    );
    const carrier = JSON.parse((await send("/")).text);
    await flush();
    const [inside, continued, also, server] = collector.spans;
    expect(carrier).toEqual({ traceparent: `00-${server!.traceId}-${server!.spanId}-03`, baggage: "k=v%201" });
    expect(inside).toMatchObject({ attributes: { k: "v 1" }, parentSpanId: server!.spanId });
    for (const span of [continued, also]) {
      expect(span).toMatchObject({
        traceId: "12345678901234567890123456789012",
        parentSpanId: "1234567890123456",
        traceState: "foo=1",
      });
    }
    expect(also!.attributes).toEqual({ from: "there" });
  });

  it("A root span of @opentelemetry/api begins a new trace, with links and times of its own", async () => {
    const { send, flush, collector } = await traced((app) =>
      app.get("/", () => {
        const active = trace.getActiveSpan()!.spanContext();
        const span = tracer.startSpan("job", {
          root: true,
          startTime: [1_700_000_000, 5000],
          links: [{ context: active, attributes: { why: "cause" } }],
        });
        span.end(new Date(1_700_000_001_000));
        return "x";
      }),
    );
    await send("/");
    await flush();
    const [job, server] = collector.spans;
    expect(job!.parentSpanId).toBeNull();
    expect(job!.traceId).not.toBe(server!.traceId);
    expect(job!.start).toBe(1_700_000_000_000_005_000n);
    expect(job!.end).toBe(1_700_000_001_000_000_000n);
    expect(job!.links).toMatchObject([{ traceId: server!.traceId, spanId: server!.spanId }]);
  });

  it("Spans of @opentelemetry/api are not recorded if the trace is not sampled or recording is suppressed", async () => {
    const key = Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING");
    const { send, flush, collector } = await traced((app) =>
      app.get("/", () => {
        context.with(context.active().setValue(key, true), () => tracer.startSpan("suppressed").end());
        const bound = context.bind(context.active().setValue(key, true), () => tracer.startSpan("bound").end());
        bound();
        tracer.startSpan("child").end();
        return "x";
      }),
    );
    await send("/", { headers: { traceparent: "00-12345678901234567890123456789012-1234567890123456-00" } });
    await send("/");
    await flush();
    expect(collector.spans.map(({ name }) => name)).toEqual(["child", "GET /"]);
  });

  it("Spans of @opentelemetry/api are not recorded after an application has ended, and are by a second application", async () => {
    const first = await traced(() => {});
    await first.close();
    expect(tracer.startSpan("late").isRecording()).toBe(false);
    const second = await traced(() => {});
    trace.getTracer("x").startSpan("again").end();
    await second.flush();
    expect(second.collector.spans.map(({ name }) => name)).toEqual(["again"]);
  });

  it("enableTelemetry() logs a warning if another OpenTelemetry SDK is registered", async () => {
    const provider = { getTracer: () => tracer };
    trace.setGlobalTracerProvider(provider as never);
    const logger = keepingLogger();
    const app = new App();
    app.logger = logger;
    app.enableTelemetry({ otlpEndpoint: "http://127.0.0.1:9", metrics: false });
    await app.start();
    await app.stop();
    trace.disable();
    expect(logger.lines).toMatchObject([
      { level: "warn", message: expect.stringContaining("another OpenTelemetry SDK") },
    ]);
  });
});
