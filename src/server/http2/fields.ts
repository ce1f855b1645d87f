import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readOptions } from "../../internal/options.js";

/** The options of HTTP/2. */
export interface Http2Fields {
  /**
   * Streams of one connection at once. A stream that the client has cancelled counts until its handler has ended. Default
   * 128.
   */
  readonly maxConcurrentStreams: number;
  /** Bytes of a request body that a client may send on one stream before they are taken. Default 256 KiB. */
  readonly streamWindow: number;
  /** Bytes of all request bodies of one connection that a client may send before they are taken. Default 1 MiB. */
  readonly connectionWindow: number;
  /** Streams that one connection may have cancelled or broken at once; a tenth of them is given back each second. Default 200. */
  readonly maxResets: number;
  /**
   * PING, SETTINGS and PRIORITY frames that one connection may send at once; a tenth of them is given back each second.
   * Default 1000.
   */
  readonly maxControlFrames: number;
  /** Frames that are not valid, and empty ones, that one connection may send in all. Default 100. */
  readonly maxInvalidFrames: number;
  /** Mebibytes that one connection may use in the HTTP/2 library before its new streams are refused. Default 10. */
  readonly maxSessionMemory: number;
}

/** The options of HTTP/2 as they are given, each in either spelling. */
export type Http2Options = EitherSpelling<{ readonly [K in keyof Http2Fields]?: Http2Fields[K] | null | undefined }>;

export const defaultHttp2: Http2Fields = {
  maxConcurrentStreams: 128,
  streamWindow: 256 * 1024,
  connectionWindow: 1024 * 1024,
  maxResets: 200,
  maxControlFrames: 1000,
  maxInvalidFrames: 100,
  maxSessionMemory: 10,
};

const largestWindow = 2 ** 31 - 1;
const checks: Checks<Http2Fields> = {
  maxConcurrentStreams: is.integer(1, 65_536),
  // RFC 9113 section 6.9.2: a client may send so much before it has read the settings.
  streamWindow: is.integer(65_535, largestWindow),
  connectionWindow: is.integer(65_535, largestWindow),
  maxResets: is.integer(1),
  maxControlFrames: is.integer(1),
  maxInvalidFrames: is.integer(1),
  maxSessionMemory: is.integer(1, 4096),
};

/** Checks the options; nothing is filled in yet. */
export function readHttp2(given: unknown): Partial<Http2Fields> {
  return readOptions<Http2Fields>("http2", given, checks);
}

/**
 * Command line over options over environment. A switch leaves the options as they are. Null if HTTP/2 is off, which is the
 * default.
 */
export function planHttp2(
  commandLine: unknown,
  options: boolean | Partial<Http2Fields> | undefined,
  environment: unknown,
): Http2Fields | null {
  const isOn = commandLine ?? (options === undefined ? environment : options !== false);
  if (isOn !== true) return null;
  return typeof options === "object" ? { ...defaultHttp2, ...options } : defaultHttp2;
}
