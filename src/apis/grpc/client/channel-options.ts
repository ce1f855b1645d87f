import type { EitherSpelling } from "../../../internal/names.js";
import { type Checks, is, readOptions } from "../../../internal/options.js";
import type { Tracer } from "../../../internal/tracer.js";
import { ValueError } from "../../../internal/value-error.js";
import { defaultMessageSize } from "../config.js";
import { Metadata, type MetadataInit } from "../metadata.js";

export interface ChannelOptions {
  /** Seconds for a unary call, unless the call says otherwise; 0 for no limit. Default 30. Streams have no limit. */
  readonly timeout?: number;
  /** Seconds for a connection to be made. Default 5. */
  readonly connectTimeout?: number;
  /** Attempts in addition to the first, for calls that the server has not begun or that can be repeated. Default 3. */
  readonly retries?: number;
  /** Milliseconds before the first further attempt; each one after it waits twice as long, up to 5 s. Default 100. */
  readonly retryDelay?: number;
  /** Metadata of every call. */
  readonly metadata?: MetadataInit;
  /** Largest message in bytes that the server may send, after decompression. Default 4,194,304. */
  readonly maxMessageSize?: number;
  /** Compresses messages of 1,024 bytes and more. Default false. */
  readonly compression?: boolean;
  /** Seconds between two pings while calls run; 0 for none. Default 60. */
  readonly keepaliveInterval?: number;
  /** Seconds for the response to a ping. Default 20. */
  readonly keepaliveTimeout?: number;
  /** Certificates in PEM, for `https`: `ca` of the server if it is private, `cert` and `key` of this client. */
  readonly tls?: ChannelTls;
  /** Records the calls. `app.grpcChannel()` sets it to that of the application. */
  readonly tracer?: Tracer | (() => Tracer | null);
}

export interface ChannelTls {
  readonly ca?: string | Uint8Array;
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** The name in the server's certificate, if it is not the host of the target. */
  readonly servername?: string;
}

export interface ChannelSettings {
  readonly url: URL;
  readonly timeout: number;
  readonly connectTimeout: number;
  readonly retries: number;
  readonly retryDelay: number;
  readonly metadata: Metadata;
  readonly maxMessageSize: number;
  readonly compression: boolean;
  readonly keepaliveInterval: number;
  readonly keepaliveTimeout: number;
  readonly tls: ChannelTls;
  readonly tracer: () => Tracer | null;
}

const seconds = is.number(0, 2_147_483);
const isPem = is.either(is.text, (value) => (value instanceof Uint8Array ? undefined : "bytes"));
const checks: Checks<ChannelOptions> = {
  timeout: seconds,
  connectTimeout: is.number(0.001, 2_147_483),
  retries: is.integer(0, 100),
  retryDelay: is.number(1, 60_000),
  metadata: is.object,
  maxMessageSize: is.integer(1, 0x7fff_ffff),
  compression: is.boolean,
  keepaliveInterval: seconds,
  keepaliveTimeout: is.number(0.001, 2_147_483),
  tls: is.object,
  tracer: is.either(is.object, is.function),
};
const tlsChecks: Checks<ChannelTls> = { ca: isPem, cert: isPem, key: isPem, servername: is.text };

export function readChannelOptions(target: string, given?: EitherSpelling<ChannelOptions>): ChannelSettings {
  const owner = "GrpcChannel";
  const options = readOptions<ChannelOptions>(owner, given, checks);
  const { tracer, metadata } = options;
  return {
    url: readTarget(target),
    timeout: options.timeout ?? 30,
    connectTimeout: options.connectTimeout ?? 5,
    retries: options.retries ?? 3,
    retryDelay: options.retryDelay ?? 100,
    metadata: metadata instanceof Metadata ? metadata : new Metadata(metadata),
    maxMessageSize: options.maxMessageSize ?? defaultMessageSize,
    compression: options.compression ?? false,
    keepaliveInterval: options.keepaliveInterval ?? 60,
    keepaliveTimeout: options.keepaliveTimeout ?? 20,
    tls: readOptions<ChannelTls>(`${owner}.tls`, options.tls, tlsChecks),
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
