import { config, type OptionsOf, option } from "../../kit/config.js";
import { type Check, is, isPlainObject } from "../../kit/options.js";
import type { AttributeValue } from "../../kit/tracer.js";
import { logLevels } from "../../logging/levels.js";

/** `http/protobuf` is OTLP over HTTP, `grpc` over gRPC. */
export type OtlpProtocol = (typeof otlpProtocols)[number];
export const otlpProtocols = ["http/protobuf", "grpc"] as const;

export const defaultServiceName = "framework-service";

const attribute = is.either(is.string, is.number(), is.boolean, is.list(is.either(is.string, is.number(), is.boolean)));

/**
 * The name of the service, the collector and the sampling of telemetry. An option that is not given is taken from the
 * standard `OTEL_*` variables, then from the default.
 */
export class OpenTelemetryConfig extends config(
  "OpenTelemetryConfig",
  {
    /** The name of the service. Default `framework-service`. */
    serviceName: option(is.text, defaultServiceName),
    /** The URL of the collector. Default `http://localhost:4318`, for gRPC `http://localhost:4317`. */
    otlpEndpoint: option.secret<string>((value) =>
      isEndpoint(value) ? undefined : "a URL that begins with http:// or https://",
    ),
    /** The share of traces that begin here and are recorded, from 0 to 1. Default 1. The decision of a caller is followed. */
    samplingRate: option(is.number(0, 1)),
    /** The protocol of the exports. Default: `http/protobuf`, and `grpc` at port 4317, which belongs to it. */
    protocol: option(is.oneOf(...otlpProtocols)),
    /** Header fields of each export, such as a key. */
    headers: option.secret(areHeaders()),
    /** Compression of exports over HTTP. Default `none`. */
    compression: option(is.oneOf("none", "gzip")),
    /** Attributes of the service: `{ "deployment.environment.name": "staging" }`. */
    resourceAttributes: option(areAttributes(), {}),
    /** False exports no spans; the trace context is passed on. Default true. */
    traces: option(is.boolean),
    /** False exports no metrics. Default true. */
    metrics: option(is.boolean),
    /** Exports log lines from this level on; true for `info`. Default false. */
    logs: option(is.either(is.boolean, is.oneOf(...logLevels))),
    /** False records no spans for `fetch`, and does not pass the trace on in it. Default true. */
    fetch: option(is.boolean, true),
    /** Hosts to which `fetch` passes the trace on: `["api.example.com"]`. Default: all. */
    propagateTo: option(is.list(is.text)),
    /** True records queries of URLs, which may hold secrets. Default false. */
    recordQuery: option(is.boolean, false),
    /** Time between two exports of metrics. Default 1 minute. */
    metricInterval: option.duration(null, "1ms", "24d"),
    /** Time for which the end of the application may wait for the last export. Default 3 seconds. */
    flushTimeout: option.duration("3s", 0, "10m"),
  },
  {
    order: ["serviceName", "otlpEndpoint", "samplingRate"],
    idle: ({ traces, metrics, fetch, protocol, compression }) => ({
      recordQuery: traces === false && "spans are not exported",
      metricInterval: metrics === false && "metrics are not exported",
      propagateTo: !fetch && "fetch is false, so it passes no trace on",
      compression: protocol === "grpc" && compression === "gzip" && "exports over gRPC are not compressed",
    }),
    refine: (_settings, { serviceName = process.env["OTEL_SERVICE_NAME"] || defaultServiceName }) => ({ serviceName }),
  },
) {}

export interface OpenTelemetryOptions extends OptionsOf<typeof OpenTelemetryConfig.options.fields> {}

export function isEndpoint(value: unknown): boolean {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  return ["http:", "https:"].includes(new URL(value).protocol);
}

function areHeaders(): Check<Readonly<Record<string, string>>> {
  const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  const fieldValue = /^[\t\x20-\x7e]*$/;
  const valid = ([name, text]: [string, unknown]): boolean =>
    fieldName.test(name) && typeof text === "string" && fieldValue.test(text);
  return (value) =>
    isPlainObject(value) && Object.entries(value).every(valid) ? undefined : "an object of header names and values";
}

function areAttributes(): Check<Readonly<Record<string, AttributeValue>>> {
  return (value) =>
    isPlainObject(value) && Object.values(value).every((member) => attribute(member) === undefined)
      ? undefined
      : "an object of strings, numbers, booleans and lists of these";
}
