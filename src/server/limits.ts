import { option, options, type SettingsOf } from "../kit/config.js";
import { is } from "../kit/options.js";

/** The longest time of a timer is 24.8 days. */
export const longestTimer = "24d";

/** The limits of a server, as options of `run`. */
export const limitFields = {
  /**
   * Time for the whole head of a request to arrive, from its first byte (from the connection for the first). Default
   * 10 seconds.
   */
  headTimeout: option.duration("10s", "1ms", longestTimer),
  /** Time without progress of an expected body: 1 KiB more of it, or its end. Default 30 seconds. */
  bodyTimeout: option.duration("30s", "1ms", longestTimer),
  /**
   * Time for a body to arrive that is read into memory, from the call that reads it. None for a streamed body. Default
   * 5 minutes.
   */
  bodyTotalTimeout: option.duration("5m", "1ms", longestTimer),
  /** Time that a connection may wait for its next request. Default 75 seconds. */
  keepAliveTimeout: option.duration("75s", "1ms", longestTimer),
  /** Time without the client taking a byte of a response. Default 30 seconds. */
  writeTimeout: option.duration("30s", "1ms", longestTimer),
  /** Open connections at once; further ones are closed. 0 for no limit. Default 0. */
  maxConnections: option(is.integer(0), 0),
  /** Bytes of request line and header fields together (431). Default 32768. */
  maxHeadSize: option(is.integer(1), 32768),
  /** Bytes of the request target (414). Default 16384. */
  maxTargetSize: option(is.integer(1), 16384),
  /** Header fields of one request (431). Default 200. */
  maxHeaders: option(is.integer(1), 200),
  /** Bytes of bodies that are read into memory at once, of all requests of the process (503). 0 for no limit. Default 256 MiB. */
  maxBodyMemory: option(is.integer(0), 256 * 1024 * 1024, "256 MiB"),
  /**
   * Bytes of responses that wait for clients to read them, of all connections of the process. Beyond for 5 seconds, or
   * beyond twice as many, the connections are closed whose clients have read nothing for the longest. 0 for no limit.
   * Default 128 MiB.
   */
  maxUnreadMemory: option(is.integer(0), 128 * 1024 * 1024, "128 MiB"),
};

/** The limits of a server; times are in seconds. */
export type ServerLimits = SettingsOf<typeof limitFields>;

export const serverLimits = options("the limits of a server", limitFields);

export const defaultLimits: ServerLimits = serverLimits.read([]);
