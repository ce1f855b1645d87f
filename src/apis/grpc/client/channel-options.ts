import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { type Check, is } from "../../../kit/options.js";
import type { Tracer } from "../../../kit/tracer.js";
import { ValueError } from "../../../kit/value-error.js";
import { defaultMessageSize } from "../config.js";
import type { GrpcInterceptor } from "../interceptor.js";
import { Metadata, type MetadataInit } from "../metadata.js";
import type { GrpcClientCall } from "./client-types.js";
import { type GrpcServiceConfig, readServiceConfig } from "./service-config.js";

const isPem: Check<string | Uint8Array> = (value) =>
  value instanceof Uint8Array || is.text(value) === undefined ? undefined : "a non-empty string, or bytes";

const tlsOptions = options("GrpcChannel.tls", {
  ca: option(isPem),
  cert: option(isPem),
  key: option(isPem),
  /** The name in the server's certificate, if it is not the host of the target. */
  servername: option(is.text),
});

export interface ChannelTls extends OptionsOf<typeof tlsOptions.fields> {}

const channelOptions = options("GrpcChannel", {
  /** Time for a unary call, unless the call says otherwise; 0 for no limit. Default 30 seconds. Streams have no limit. */
  timeout: option.duration("30s", 0, "24d"),
  /** Time for a connection to be made. Default 5 seconds. */
  connectTimeout: option.duration("5s", "1ms", "24d"),
  /** Attempts in addition to the first, for calls that the server has not begun or that can be repeated. Default 3. */
  retries: option(is.integer(0, 100), 3),
  /** Time before the first further attempt; each one after it waits twice as long, up to 5 s. Default 100 ms. */
  retryDelay: option.duration("100ms", "1ms", "1m"),
  /** Timeouts and retries by method: a service config of gRPC. It holds in place of `retries` for the methods that it names. */
  serviceConfig: option.made<GrpcServiceConfig, ReturnType<typeof readServiceConfig>>(
    is.object,
    readServiceConfig,
    readServiceConfig({}),
  ),
  /** Metadata of every call. */
  metadata: option<MetadataInit>(is.object),
  /** Functions around every call; the first is the outermost. */
  interceptors: option<readonly GrpcInterceptor<GrpcClientCall>[]>(is.list(is.function), []),
  /** Largest message in bytes that the server may send, after decompression. Default 4,194,304. */
  maxMessageSize: option(is.integer(1, 0x7fff_ffff), defaultMessageSize),
  /** Compresses messages of 1,024 bytes and more. Default false. */
  compression: option(is.boolean, false),
  /** Time between two pings while calls run; 0 for none. Default 1 minute. */
  keepaliveInterval: option.duration("1m", 0, "24d"),
  /** Time for the response to a ping. Default 20 seconds. */
  keepaliveTimeout: option.duration("20s", "1ms", "24d"),
  /** Certificates in PEM, for `https`: `ca` of the server if it is private, `cert` and `key` of this client. */
  tls: option.made<ChannelTls, ChannelTls>(is.object, (given) => tlsOptions.read([given]), {}),
  /** Records the calls. `app.grpcChannel()` sets it to that of the application. */
  tracer: option<Tracer | (() => Tracer | null)>(is.either(is.object, is.function)),
});

export interface ChannelOptions extends OptionsOf<typeof channelOptions.fields> {}

/** Times are in seconds. */
export interface ChannelSettings extends Omit<SettingsOf<typeof channelOptions.fields>, "metadata" | "tracer"> {
  /** The addresses of the server, at least one. */
  readonly urls: readonly URL[];
  readonly metadata: Metadata;
  readonly tracer: () => Tracer | null;
}

export function readChannelOptions(
  target: string | readonly string[],
  given?: EitherSpelling<ChannelOptions>,
): ChannelSettings {
  const settings = channelOptions.read([given]);
  const { tracer, metadata } = settings;
  return {
    ...settings,
    urls: (Array.isArray(target) && target.length > 0 ? target : [target]).map(readTarget),
    metadata: metadata instanceof Metadata ? metadata : new Metadata(metadata),
    tracer: typeof tracer === "function" ? tracer : () => tracer ?? null,
  };
}

/** `localhost:50051`, `http://localhost:50051` or `https://example.com`. */
function readTarget(target: unknown): URL {
  const text = String(target);
  const url = URL.canParse(text) && /^https?:\/\//.test(text) ? new URL(text) : asPlain(text);
  if (typeof target === "string" && url !== null && url.hostname !== "" && url.pathname === "/" && url.search === "")
    return url;
  throw new ValueError(
    `GrpcChannel takes the address of a server, such as "http://localhost:50051", not ${JSON.stringify(target)}`,
  );
}

function asPlain(text: string): URL | null {
  const whole = `http://${text}`;
  return !text.includes("/") && URL.canParse(whole) ? new URL(whole) : null;
}
