import { type OptionSet, type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";

const largestWindow = 2 ** 31 - 1;

const fields = {
  /**
   * Streams of one connection at once. A stream that the client has cancelled counts until its handler has ended. Default
   * 128.
   */
  maxConcurrentStreams: option(is.integer(1, 65_536), 128),
  // RFC 9113 section 6.9.2: a client may send 65,535 bytes before it has read the settings.
  /** Bytes of a request body that a client may send on one stream before they are taken. Default 256 KiB. */
  streamWindow: option(is.integer(65_535, largestWindow), 256 * 1024, "256 KiB"),
  /** Bytes of all request bodies of one connection that a client may send before they are taken. Default 1 MiB. */
  connectionWindow: option(is.integer(65_535, largestWindow), 1024 * 1024, "1 MiB"),
  /** Streams that one connection may have cancelled or broken at once; a tenth of them is given back each second. Default 200. */
  maxResets: option(is.integer(1), 200),
  /**
   * PING, SETTINGS and PRIORITY frames that one connection may send at once; a tenth of them is given back each second.
   * Default 1000.
   */
  maxControlFrames: option(is.integer(1), 1000),
  /** Frames that are not valid, and empty ones, that one connection may send in all. Default 100. */
  maxInvalidFrames: option(is.integer(1), 100),
  /** Mebibytes that one connection may use in the HTTP/2 library before its new streams are refused. Default 10. */
  maxSessionMemory: option(is.integer(1, 4096), 10),
};

/** The options of HTTP/2 as they are given, each in either spelling. */
interface GivenOptions extends OptionsOf<typeof fields> {}

export type Http2Options = EitherSpelling<GivenOptions>;

/** The settings of HTTP/2. */
export type Http2Fields = SettingsOf<typeof fields>;

export const http2Options: OptionSet<typeof fields> = options("http2", fields, {
  idle: ({ streamWindow, connectionWindow }) => ({
    streamWindow: streamWindow > connectionWindow && "connectionWindow is smaller, and bounds all streams together",
  }),
});

export const defaultHttp2: Http2Fields = http2Options.read([]);

/** The option `http2` of `run`. */
export const http2Option = option.made<boolean | Http2Options, boolean | Http2Fields | undefined>(
  is.either<[boolean, Http2Options]>(is.boolean, is.object),
  (given) => (typeof given === "boolean" ? given : http2Options.read([given])),
  undefined,
);

/**
 * Command line over options over environment. A switch leaves the options as they are. Null if HTTP/2 is off, which is the
 * default.
 */
export function planHttp2(
  commandLine: unknown,
  options: boolean | Http2Fields | undefined,
  environment: unknown,
): Http2Fields | null {
  const isOn = commandLine ?? (options === undefined ? environment : options !== false);
  if (isOn !== true) return null;
  return typeof options === "object" ? options : defaultHttp2;
}
