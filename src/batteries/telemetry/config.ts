import type { ConfigOf } from "../../internal/config-of.js";
import { addSnakeNames, type EitherSpelling } from "../../internal/names.js";
import { inspectSymbol } from "../../internal/node-modules.js";
import { type Check, type Checks, is, isPlainObject, readCall, show } from "../../internal/options.js";
import type { AttributeValue } from "../../internal/tracer.js";
import { ValueError } from "../../internal/value-error.js";
import { type LogLevel, logLevels } from "../../logging/levels.js";

/** `http/protobuf` is OTLP over HTTP, `grpc` over gRPC. */
export type OtlpProtocol = "http/protobuf" | "grpc";

/** Options of telemetry. An option that is not given is taken from the standard `OTEL_*` variables, then from the default. */
export interface OpenTelemetryOptions {
  /** The name of the service. Default `framework-service`. */
  readonly serviceName?: string;
  /** The URL of the collector. Default `http://localhost:4318`, for gRPC `http://localhost:4317`. */
  readonly otlpEndpoint?: string;
  /** The share of traces that begin here and are recorded, from 0 to 1. Default 1. The decision of a caller is followed. */
  readonly samplingRate?: number;
  /** The protocol of the exports. Default `http/protobuf`. */
  readonly protocol?: OtlpProtocol;
  /** Header fields of each export, such as a key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Compression of exports over HTTP. Default `none`. */
  readonly compression?: "none" | "gzip";
  /** Attributes of the service: `{ "deployment.environment.name": "staging" }`. */
  readonly resourceAttributes?: Readonly<Record<string, AttributeValue>>;
  /** False exports no spans; the trace context is passed on. Default true. */
  readonly traces?: boolean;
  /** False exports no metrics. Default true. */
  readonly metrics?: boolean;
  /** Exports log lines from this level on; true for `info`. Default false. */
  readonly logs?: boolean | LogLevel;
  /** False records no spans for `fetch`, and does not pass the trace on in it. Default true. */
  readonly fetch?: boolean;
  /** Hosts to which `fetch` passes the trace on: `["api.example.com"]`. Default: all. */
  readonly propagateTo?: readonly string[];
  /** True records queries of URLs, which may hold secrets. Default false. */
  readonly recordQuery?: boolean;
  /** Seconds between two exports of metrics. Default 60. */
  readonly metricInterval?: number;
  /** Seconds that the end of the application may wait for the last export. Default 3. */
  readonly flushTimeout?: number;
}

const attribute = is.either(is.string, is.number(), is.boolean, is.list(is.either(is.string, is.number(), is.boolean)));
const record =
  (item: Check, what: string): Check =>
  (value) =>
    isPlainObject(value) && Object.values(value).every((member) => item(member) === undefined) ? undefined : what;

const checks: Checks<OpenTelemetryOptions> = {
  serviceName: is.text,
  // Checked separately: the message of a failed check shows the value, and a URL may hold a password.
  otlpEndpoint: is.anything,
  samplingRate: is.number(0, 1),
  protocol: is.oneOf("http/protobuf", "grpc"),
  // Values may be keys: they are not shown.
  headers: is.anything,
  compression: is.oneOf("none", "gzip"),
  resourceAttributes: record(attribute, "an object of strings, numbers, booleans and lists of these"),
  traces: is.boolean,
  metrics: is.boolean,
  logs: is.either(is.boolean, is.oneOf(...logLevels)),
  fetch: is.boolean,
  propagateTo: is.list(is.text),
  recordQuery: is.boolean,
  metricInterval: is.number(0.001, 2_147_483),
  flushTimeout: is.number(0, 600),
};

type Given = [
  serviceNameOrOptions?: string | EitherSpelling<OpenTelemetryOptions> | null,
  otlpEndpoint?: string | null,
  samplingRate?: number | null,
];

const contractOrder = ["serviceName", "otlpEndpoint", "samplingRate"] as const;
const defaultName = "framework-service";

class BaseConfig {
  /** @internal The options that were given. */
  readonly given: OpenTelemetryOptions;

  constructor(...given: Given) {
    const options = readCall<OpenTelemetryOptions>("OpenTelemetryConfig", given, contractOrder, checks);
    checkEndpoint(options.otlpEndpoint);
    checkHeaders(options.headers);
    this.given = options;
    Object.defineProperty(this, "given", { enumerable: false });
  }

  /** The name of the service. */
  get serviceName(): string {
    return this.given.serviceName ?? (process.env["OTEL_SERVICE_NAME"] || defaultName);
  }

  /** The URL of the collector; undefined if it was not given. */
  get otlpEndpoint(): string | undefined {
    return this.given.otlpEndpoint;
  }

  /** The share of traces that begin here and are recorded; undefined if it was not given. */
  get samplingRate(): number | undefined {
    return this.given.samplingRate;
  }

  [inspectSymbol](): string {
    return `OpenTelemetryConfig { serviceName: ${show(this.serviceName)} }`;
  }
}

/** The name of the service, the collector and the sampling of telemetry. */
export class OpenTelemetryConfig extends BaseConfig {
  /** Takes a config, its fields, positional arguments, or nothing for the defaults. */
  static from(given: readonly unknown[]): OpenTelemetryConfig {
    return given[0] instanceof OpenTelemetryConfig ? given[0] : new OpenTelemetryConfig(...(given as Given));
  }
}
export interface OpenTelemetryConfig extends ConfigOf<"OpenTelemetryConfig"> {
  readonly service_name: string;
  readonly otlp_endpoint: string | undefined;
  readonly sampling_rate: number | undefined;
}
addSnakeNames(BaseConfig.prototype, ["serviceName", "otlpEndpoint", "samplingRate"]);

export function isEndpoint(value: unknown): boolean {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  return ["http:", "https:"].includes(new URL(value).protocol);
}

function checkEndpoint(value: unknown): void {
  if (value === undefined || isEndpoint(value)) return;
  throw new ValueError(
    "option 'otlpEndpoint' in OpenTelemetryConfig must be a URL that begins with http:// or https://",
  );
}

const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const fieldValue = /^[\t\x20-\x7e]*$/;

function checkHeaders(value: unknown): void {
  if (value === undefined) return;
  const valid = ([name, text]: [string, unknown]): boolean =>
    fieldName.test(name) && typeof text === "string" && fieldValue.test(text);
  if (isPlainObject(value) && Object.entries(value).every(valid)) return;
  throw new ValueError("option 'headers' in OpenTelemetryConfig must be an object of header names and values");
}
