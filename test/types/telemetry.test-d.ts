import { App, type Span } from "stoa";
import { describe, expectTypeOf, it } from "vitest";

const app = new App();

describe("telemetry", () => {
  it("A span returns the result of its function", () => {
    expectTypeOf(app.tracer.span("x", () => 3)).toEqualTypeOf<number>();
    expectTypeOf(app.tracer.span("x", { a: 1 }, async (span) => span.traceId)).toEqualTypeOf<Promise<string>>();
    expectTypeOf(app.tracer.current).toEqualTypeOf<Span | null>();
  });

  it("Telemetry takes its options in both spellings, and only attributes that can be sent", () => {
    app.enableTelemetry({ service_name: "shop", sampling_rate: 0.1 }).enable_telemetry({ otlpEndpoint: "http://c" });
    // @ts-expect-error no such protocol
    app.enableTelemetry({ protocol: "http/json" });
    // @ts-expect-error an object is no attribute
    app.tracer.start("x", { a: { b: 1 } });
    app.get("/", { telemetry: false }, (request) => request.span.set("a", ["b"]).traceId);
  });
});
