import { App, OpenTelemetryConfig } from "stoa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Environment } from "../../../src/batteries/telemetry/environment.js";
import { resourceAttributes } from "../../../src/batteries/telemetry/resource.js";
import { decideSettings } from "../../../src/batteries/telemetry/settings.js";
import { Sampler } from "../../../src/batteries/telemetry/trace/sampler.js";
import { traced } from "./traced.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

function settings(options: object = {}, variables: Record<string, string> = {}) {
  const env = new Environment(variables);
  const decided = decideSettings(new OpenTelemetryConfig(options), env);
  return { ...decided!, warnings: env.warnings };
}

describe("OpenTelemetryConfig", () => {
  it("OpenTelemetryConfig has the contract's fields in both spellings, positional too, and its defaults", () => {
    const config = new OpenTelemetryConfig({
      service_name: "shop",
      otlp_endpoint: "http://c:4318",
      sampling_rate: 0.1,
    });
    expect([config.serviceName, config.service_name]).toEqual(["shop", "shop"]);
    expect([config.otlpEndpoint, config.otlp_endpoint]).toEqual(["http://c:4318", "http://c:4318"]);
    expect([config.samplingRate, config.sampling_rate]).toEqual([0.1, 0.1]);
    expect(new OpenTelemetryConfig().serviceName).toBe("framework-service");
    expect(new OpenTelemetryConfig("a", "http://b", 0.5)).toMatchObject({ serviceName: "a", samplingRate: 0.5 });
    expect(() => new App().enableTelemetry(null).enableTelemetry(config).enable_telemetry("x")).not.toThrow();
  });

  it.each([
    [{ samplingRate: 2 }, "option 'samplingRate' in OpenTelemetryConfig must be a number from 0 to 1, not 2"],
    [{ sampling_rate: "1" }, "option 'sampling_rate' in OpenTelemetryConfig must be a number from 0 to 1"],
    [{ serviceName: "" }, "option 'serviceName' in OpenTelemetryConfig must be a non-empty string"],
    [{ otlpEndpoint: "collector:4318" }, "must be a URL that begins with http:// or https://"],
    [{ otlpEndpoint: "ftp://u:hunter2@c" }, "must be a URL that begins with http:// or https://"],
    [{ protocol: "http/json" }, 'option \'protocol\' in OpenTelemetryConfig must be one of "http/protobuf", "grpc"'],
    [{ headers: { "a b": "c" } }, "option 'headers' in OpenTelemetryConfig must be an object of header names"],
    [{ headers: { a: "b\r\nc: d" } }, "option 'headers' in OpenTelemetryConfig must be an object of header names"],
    [
      { resourceAttributes: { a: { b: 1 } } },
      "option 'resourceAttributes' in OpenTelemetryConfig must be an object of",
    ],
    [{ samplingrate: 1 }, "unknown option 'samplingrate' in OpenTelemetryConfig; did you mean 'samplingRate'?"],
    [{ logs: "loud" }, "option 'logs' in OpenTelemetryConfig must be"],
  ])("OpenTelemetryConfig refuses %j", (options, message) => {
    expect(() => new OpenTelemetryConfig(options as never)).toThrow(message);
  });

  it("OpenTelemetryConfig shows no secret in an error", () => {
    expect(() => new OpenTelemetryConfig({ otlpEndpoint: "x://u:hunter2@c" })).toThrow(/^(?!.*hunter2)/);
    expect(() => new OpenTelemetryConfig({ headers: { a: "hunter2\n" } })).toThrow(/^(?!.*hunter2)/);
  });
});

describe("the settings", () => {
  it("Traces and metrics are exported to a collector on this machine by default, and all traces are sampled", () => {
    const { traces, metrics, logs, sampling, batches, flushTimeout } = settings();
    expect(traces!.url.href).toBe("http://localhost:4318/v1/traces");
    expect(metrics!.url.href).toBe("http://localhost:4318/v1/metrics");
    expect(logs).toBeNull();
    expect(sampling).toEqual({ rate: 1, parentBased: true });
    expect(batches).toMatchObject({ items: 8192, batchItems: 512 });
    expect(flushTimeout).toBe(3000);
  });

  it.each([
    ["http://c", "http://c/v1/traces"],
    ["http://c:4318/", "http://c:4318/v1/traces"],
    ["https://c/otlp", "https://c/otlp/v1/traces"],
    ["http://c/v1/traces", "http://c/v1/traces"],
    ["http://c/v1/metrics", "http://c/v1/traces"],
  ])("The endpoint %s has its traces at %s", (endpoint, url) => {
    expect(settings({ otlpEndpoint: endpoint }).traces!.url.href).toBe(url);
    expect(settings({}, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }).traces!.url.href).toBe(url);
  });

  it("Port 4317 means gRPC unless a protocol is given, and a port of the other protocol is a warning", () => {
    const at = (otlpEndpoint: string, protocol?: "grpc" | "http/protobuf") => {
      const env = new Environment({});
      const { traces } = decideSettings(new OpenTelemetryConfig({ otlpEndpoint, ...(protocol && { protocol }) }), env)!;
      return [traces!.protocol, ...env.warnings];
    };
    expect(at("http://c:4317")).toEqual(["grpc"]);
    expect(at("http://c:4318")).toEqual(["http/protobuf"]);
    expect(at("http://c:4317", "http/protobuf")).toEqual([
      "http/protobuf",
      'port 4317 is the one of OTLP over gRPC: set protocol: "grpc"',
    ]);
    expect(at("http://c:4318", "grpc")).toEqual([
      "grpc",
      'port 4318 is the one of OTLP over HTTP: set protocol: "http/protobuf"',
    ]);
    expect(settings({}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4317" }).metrics!.protocol).toBe("grpc");
  });

  it("The standard variables are read, and a given option overrides them", () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://all:1",
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://metrics:2/push",
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b, y=c",
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: "m=1",
      OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_CERTIFICATE: "/ca.pem",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_METRIC_EXPORT_INTERVAL: "5000",
      OTEL_LOGS_EXPORTER: "otlp",
      OTEL_PROPAGATORS: "tracecontext",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "5",
      OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: "10",
    };
    const read = settings({}, variables);
    expect(read.traces).toMatchObject({
      protocol: "grpc",
      headers: { "x-key": "a b", y: "c" },
      timeout: 2000,
      compression: "gzip",
      tls: { ca: "/ca.pem" },
    });
    expect(read.traces!.url.href).toBe("http://all:1/");
    expect(read.metrics).toMatchObject({ protocol: "http/protobuf", headers: { m: "1" } });
    expect(read.metrics!.url.href).toBe("http://metrics:2/push");
    expect(read.logs!.url.href).toBe("http://all:1/v1/logs");
    expect(read.sampling).toEqual({ rate: 0.25, parentBased: true });
    expect(read).toMatchObject({
      metricInterval: 5000,
      delay: 100,
      propagation: { traceContext: true, baggage: false },
    });
    expect(read.limits).toMatchObject({ attributes: 5, valueLength: 10, events: 128 });
    expect(read.warnings).toEqual([]);
    const given = settings({ otlpEndpoint: "http://own", samplingRate: 1, protocol: "http/protobuf" }, variables);
    expect(given.metrics!.url.href).toBe("http://own/v1/metrics");
    expect(given.sampling.rate).toBe(1);
  });

  it.each([
    ["always_on", { rate: 1, parentBased: false }],
    ["always_off", { rate: 0, parentBased: false }],
    ["traceidratio", { rate: 0.5, parentBased: false }],
    ["parentbased_always_on", { rate: 1, parentBased: true }],
    ["parentbased_always_off", { rate: 0, parentBased: true }],
    ["parentbased_traceidratio", { rate: 0.5, parentBased: true }],
  ])("OTEL_TRACES_SAMPLER=%s sets the sampling rate and the role of the parent", (name, sampling) => {
    expect(settings({}, { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: "0.5" }).sampling).toEqual(sampling);
  });

  it("Wrong variables are reported without their values, and defaults are used", () => {
    const { warnings, traces, sampling } = settings(
      {},
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: "hunter2",
        OTEL_EXPORTER_OTLP_TIMEOUT: "soon",
        OTEL_TRACES_SAMPLER: "sometimes",
        OTEL_EXPORTER_OTLP_HEADERS: "hunter2",
        OTEL_PROPAGATORS: "b3",
      },
    );
    expect(warnings.join("\n")).not.toContain("hunter2");
    expect(warnings.map((warning) => warning.split(/[ :]/)[0]).sort()).toEqual(
      expect.arrayContaining([
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_PROPAGATORS",
        "OTEL_TRACES_SAMPLER",
      ]),
    );
    expect(traces).toMatchObject({ timeout: 10_000 });
    expect(sampling.rate).toBe(1);
  });

  it("Nothing is recorded or exported if OTEL_SDK_DISABLED is true", async () => {
    vi.stubEnv("OTEL_SDK_DISABLED", "true");
    const { send, flush, collector } = await traced((app) => app.get("/", (request) => request.span.recording));
    expect((await send("/")).text).toBe("false");
    await flush();
    expect(collector.exports).toEqual([]);
  });

  it("The attributes of the resource name the service, the process and this instance", async () => {
    vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b,deployment.environment.name=test,service.name=lost");
    const { send, flush, collector } = await traced((app) => app.get("/", () => "x"), {
      telemetry: { serviceName: "shop", resourceAttributes: { team: "given", "service.version": "1.2" } },
    });
    await send("/");
    await flush();
    expect(collector.resource).toMatchObject({
      "service.name": "shop",
      "service.version": "1.2",
      "service.instance.id": expect.stringMatching(/^[0-9a-f-]{36}$/),
      "telemetry.sdk.language": "nodejs",
      "telemetry.sdk.name": "stoa",
      "process.pid": process.pid,
      team: "given",
      "deployment.environment.name": "test",
    });
  });

  it("The service's name comes from the variables where none is given", () => {
    const nameOf = (variables: Record<string, string>): unknown => {
      vi.unstubAllEnvs();
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      const config = new OpenTelemetryConfig();
      return Object.fromEntries(resourceAttributes(config, config.serviceName, new Environment()))["service.name"];
    };
    expect(nameOf({ OTEL_SERVICE_NAME: "a", OTEL_RESOURCE_ATTRIBUTES: "service.name=b" })).toBe("a");
    expect(nameOf({ OTEL_RESOURCE_ATTRIBUTES: "service.name=b" })).toBe("b");
    expect(nameOf({})).toBe("framework-service");
  });
});

describe("the sampler", () => {
  it("The sampler decides by the trace id, and a higher rate chooses all traces of a lower one", () => {
    const ids = Array.from({ length: 2000 }, () =>
      Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join(""),
    );
    const few = new Sampler({ rate: 0.1, parentBased: true });
    const many = new Sampler({ rate: 0.4, parentBased: true });
    const chosen = ids.filter((id) => few.samples(null, id));
    expect(chosen.every((id) => many.samples(null, id))).toBe(true);
    expect(chosen.length).toBeGreaterThan(100);
    expect(chosen.length).toBeLessThan(320);
    expect(new Sampler({ rate: 0, parentBased: true }).samples(null, "f".repeat(32))).toBe(false);
    expect(new Sampler({ rate: 1, parentBased: true }).samples(null, "0".repeat(32))).toBe(true);
    expect(new Sampler({ rate: 0, parentBased: false }).samples(true, ids[0]!)).toBe(false);
  });
});
