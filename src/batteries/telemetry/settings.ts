import { milliseconds } from "../../kit/time/duration.js";
import type { LogLevel } from "../../logging/levels.js";
import { isEndpoint, type OpenTelemetryConfig, type OtlpProtocol, otlpProtocols } from "./config.js";
import type { Environment } from "./environment.js";
import type { BatchLimits } from "./export/batches.js";
import type { SpanLimits } from "./trace/recorded-span.js";
import type { Sampling } from "./trace/sampler.js";
import type { Propagation } from "./trace/tracer.js";

export type Signal = "traces" | "metrics" | "logs";

/** The way of one signal to its collector. */
export interface SignalSettings {
  readonly url: URL;
  readonly protocol: OtlpProtocol;
  readonly headers: Readonly<Record<string, string>>;
  readonly compression: "none" | "gzip";
  /** Milliseconds. */
  readonly timeout: number;
  /** Paths of PEM files. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

/** Everything decided: options first, then the environment, then defaults. */
export interface TelemetrySettings {
  readonly serviceName: string;
  readonly sampling: Sampling;
  readonly propagation: Propagation;
  readonly limits: SpanLimits;
  readonly batches: BatchLimits;
  /** Milliseconds after which a batch that is not full is sent. */
  readonly delay: number;
  /** Null for a signal that is not exported. */
  readonly traces: SignalSettings | null;
  readonly metrics: SignalSettings | null;
  readonly logs: SignalSettings | null;
  readonly logLevel: LogLevel;
  /** Milliseconds, as `flushTimeout`. */
  readonly metricInterval: number;
  readonly flushTimeout: number;
  readonly fetch: boolean;
  readonly propagateTo: ReadonlySet<string> | null;
  readonly recordQuery: boolean;
}

/** Null if `OTEL_SDK_DISABLED` is true. */
export function decideSettings(config: OpenTelemetryConfig, env: Environment): TelemetrySettings | null {
  if (env.boolean("OTEL_SDK_DISABLED") === true) return null;
  const logs = config.logs ?? (env.oneOf("OTEL_LOGS_EXPORTER", exporters) === "otlp" ? "info" : false);
  const level = logs === true ? "info" : logs === false ? "silent" : logs;
  const signal = (name: Signal): SignalSettings => signalSettings(name, config, env);
  return {
    serviceName: config.serviceName,
    sampling: samplingOf(config.samplingRate, env),
    propagation: propagationOf(env),
    limits: limitsOf(env),
    batches: batchesOf(env),
    delay: env.number("OTEL_BSP_SCHEDULE_DELAY", 1, 3_600_000) ?? 5000,
    traces: (config.traces ?? env.oneOf("OTEL_TRACES_EXPORTER", exporters) !== "none") ? signal("traces") : null,
    metrics: (config.metrics ?? env.oneOf("OTEL_METRICS_EXPORTER", exporters) !== "none") ? signal("metrics") : null,
    logs: level === "silent" ? null : signal("logs"),
    logLevel: level,
    metricInterval:
      config.metricInterval === undefined
        ? (env.number("OTEL_METRIC_EXPORT_INTERVAL", 1, 2_147_483_647) ?? 60_000)
        : milliseconds(config.metricInterval),
    flushTimeout: milliseconds(config.flushTimeout),
    fetch: config.fetch,
    propagateTo: config.propagateTo === undefined ? null : new Set(config.propagateTo),
    recordQuery: config.recordQuery,
  };
}

const exporters = ["otlp", "none"] as const;

function signalSettings(signal: Signal, config: OpenTelemetryConfig, env: Environment): SignalSettings {
  const said = config.protocol ?? env.ofSignal(signal, "PROTOCOL", (name) => env.oneOf(name, otlpProtocols));
  const protocol =
    said ?? (endpointOf(signal, config.otlpEndpoint, env)?.port === grpcPort ? "grpc" : otlpProtocols[0]);
  const file = (name: string): string | undefined => env.ofSignal(signal, name, (each) => env.text(each));
  const [ca, cert, key] = [file("CERTIFICATE"), file("CLIENT_CERTIFICATE"), file("CLIENT_KEY")];
  return {
    url: warned(urlOf(signal, protocol, config.otlpEndpoint, env), protocol, env),
    protocol,
    headers: config.headers ?? env.ofSignal(signal, "HEADERS", (name) => env.pairs(name)) ?? {},
    compression:
      config.compression ?? env.ofSignal(signal, "COMPRESSION", (name) => env.oneOf(name, ["none", "gzip"])) ?? "none",
    timeout: env.ofSignal(signal, "TIMEOUT", (name) => env.number(name, 1, 600_000)) ?? 10_000,
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
  };
}

/** The ports that the specification of OTLP gives to its protocols. */
const [grpcPort, httpPort] = ["4317", "4318"];

/** The URL that was given for a signal, if any. */
function endpointOf(signal: Signal, given: string | undefined, env: Environment): URL | undefined {
  const own = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`;
  const text = given ?? env.text(own) ?? env.text("OTEL_EXPORTER_OTLP_ENDPOINT");
  return text !== undefined && isEndpoint(text) ? new URL(text) : undefined;
}

/** Warns of a port that belongs to the other protocol: nothing would arrive. */
function warned(url: URL, protocol: OtlpProtocol, env: Environment): URL {
  const isGrpc = protocol === "grpc";
  if (url.port !== (isGrpc ? httpPort : grpcPort)) return url;
  const other: OtlpProtocol = isGrpc ? otlpProtocols[0] : "grpc";
  const warning = `port ${url.port} is the one of OTLP over ${isGrpc ? "HTTP" : "gRPC"}: set protocol: "${other}"`;
  if (!env.warnings.includes(warning)) env.warnings.push(warning);
  return url;
}

/** A signal's own URL is used as it is; behind a common one stands the path of the signal. */
function urlOf(signal: Signal, protocol: OtlpProtocol, given: string | undefined, env: Environment): URL {
  const own = endpoint(env, `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`);
  if (given === undefined && own !== undefined) return new URL(own);
  const port = protocol === "grpc" ? grpcPort : httpPort;
  const url = new URL(given ?? endpoint(env, "OTEL_EXPORTER_OTLP_ENDPOINT") ?? `http://localhost:${port}`);
  if (protocol === "grpc") return url;
  // Users often give the URL of one signal.
  const base = url.pathname.replace(/\/v1\/(?:traces|metrics|logs)$/, "");
  url.pathname = `${base.endsWith("/") ? base.slice(0, -1) : base}/v1/${signal}`;
  return url;
}

function endpoint(env: Environment, name: string): string | undefined {
  const value = env.text(name);
  if (value === undefined || isEndpoint(value)) return value;
  env.warnings.push(`${name} must be a URL that begins with http:// or https://; its value is ignored`);
  return undefined;
}

function samplingOf(given: number | undefined, env: Environment): Sampling {
  if (given !== undefined) return { rate: given, parentBased: true };
  const name = env.oneOf("OTEL_TRACES_SAMPLER", [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
  ]);
  const sampler = name ?? "parentbased_always_on";
  const ratio = sampler.endsWith("ratio") ? (env.number("OTEL_TRACES_SAMPLER_ARG", 0, 1) ?? 1) : 1;
  return { rate: sampler.endsWith("off") ? 0 : ratio, parentBased: sampler.startsWith("parentbased") };
}

function propagationOf(env: Environment): Propagation {
  const names = env.list("OTEL_PROPAGATORS") ?? ["tracecontext", "baggage"];
  const unknown = names.filter((name) => !["tracecontext", "baggage", "none"].includes(name));
  if (unknown.length > 0) env.warnings.push("OTEL_PROPAGATORS: only tracecontext, baggage and none are supported");
  return { traceContext: names.includes("tracecontext"), baggage: names.includes("baggage") };
}

function limitsOf(env: Environment): SpanLimits {
  const count = (name: string): number => env.number(name, 0, 100_000) ?? 128;
  const general = env.number("OTEL_ATTRIBUTE_COUNT_LIMIT", 0, 100_000);
  const length = env.number("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0, 10_000_000);
  return {
    attributes: env.number("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", 0, 100_000) ?? general ?? 128,
    events: count("OTEL_SPAN_EVENT_COUNT_LIMIT"),
    links: count("OTEL_SPAN_LINK_COUNT_LIMIT"),
    valueLength: length ?? env.number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0, 10_000_000) ?? 16_384,
  };
}

function batchesOf(env: Environment): BatchLimits {
  const items = env.number("OTEL_BSP_MAX_QUEUE_SIZE", 1, 10_000_000) ?? 8192;
  const batchItems = env.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, 100_000) ?? 512;
  return { items, batchItems: Math.min(items, batchItems), bytes: 16 * 1024 * 1024 };
}
