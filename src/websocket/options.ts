import { isToken } from "../http/fields/headers.js";
import type { Request } from "../http/request.js";
import { type OptionsOf, option, options } from "../kit/config.js";
import { type Check, is } from "../kit/options.js";
import { milliseconds } from "../kit/time/duration.js";
import { ValueError } from "../kit/value-error.js";
import type { ChannelLimits } from "./channel.js";

/** The pages that may open a WebSocket: a list of origins, any, or a function that returns true for accepted ones. */
export type Origins = readonly string[] | "*" | ((origin: string | undefined, request: Request) => boolean);

// `ws` keeps the largest size in 32 bits.
const maxSize = 2 ** 31 - 1;
const mebibyte = 1024 * 1024;

const isProtocol: Check<string> = (value) => (typeof value === "string" && isToken(value) ? undefined : "a token");

export const socketFields = {
  /** Default: pages of the same host. A client that sends no Origin is not a browser and is accepted by a list too. */
  origins: option.made<Origins, Origins | null>(
    is.either(is.oneOf("*"), is.list<string>(isOrigin), is.function),
    (origins) => (Array.isArray(origins) ? origins.map(normalized) : origins),
    null,
  ),
  /** The supported subprotocols. The first one of the client's list that is supported is chosen. */
  protocols: option(is.list(isProtocol), []),
  /** Bytes of one message; a longer one ends the connection with 1009. Default 1 MiB. */
  maxMessageSize: option(is.integer(1, maxSize), mebibyte),
  /** Messages that a client may send per second; one more ends the connection with 1008. Default: no limit. */
  messageRate: option(is.number(0.001, 1_000_000)),
  /** Messages that a client may send at once, if it was slower before. Default: the messages of one second, at least 1. */
  messageBurst: option(is.integer(1)),
  /** Bytes of received messages that may wait for `recv`; with more, reading from the peer is paused. Default 1 MiB. */
  maxQueued: option(is.integer(1, maxSize), mebibyte),
  /** Bytes sent that may wait for the peer to take them. Default 1 MiB. */
  maxBuffered: option(is.integer(1, maxSize), mebibyte),
  /** Time in which the peer may take no message while more than `maxBuffered` waits. Default 30 seconds. */
  sendTimeout: option.duration("30s", "1ms", "1d"),
  /** Time between pings; a peer that is silent from one to the next is given up. 0 for none. Default 30 seconds. */
  heartbeat: option.duration("30s", 0, "1d"),
  /** Time to wait for the close frame of the peer. Default 10 seconds. */
  closeTimeout: option.duration("10s", "1ms", "1d"),
  /** Enables compression of messages (permessage-deflate). Default false: it costs memory and time per socket. */
  compression: option(is.boolean, false),
};

const socketOptions = options("a WebSocket route", socketFields);

/** The options of a WebSocket route. */
export interface SocketOptions extends OptionsOf<typeof socketFields> {}

/** The settings of the connections; times in milliseconds. */
export interface SocketSettings {
  readonly origins: Origins | null;
  readonly protocols: readonly string[];
  readonly closeTimeout: number;
  readonly compression: boolean;
  readonly limits: ChannelLimits;
}

/** Reads the socket options of a route, which may have others too. */
export function socketSettings(given: SocketOptions): SocketSettings {
  const names = Object.keys(socketFields) as (keyof SocketOptions)[];
  const own = Object.fromEntries(names.map((name) => [name, given[name]]));
  const { origins, protocols, closeTimeout, compression, ...limits } = socketOptions.read([own]);
  if (limits.messageBurst !== undefined && limits.messageRate === undefined) {
    throw new ValueError("option 'messageBurst' in a WebSocket route needs messageRate");
  }
  return {
    origins,
    protocols,
    closeTimeout: milliseconds(closeTimeout),
    compression,
    limits: { ...limits, sendTimeout: milliseconds(limits.sendTimeout), heartbeat: milliseconds(limits.heartbeat) },
  };
}

/** An origin as a browser writes it: lower case, without the default port. */
export function normalized(origin: string): string {
  if (!/^https?:/i.test(origin)) return origin.toLowerCase();
  try {
    return new URL(origin).origin;
  } catch {
    return origin.toLowerCase();
  }
}

function isOrigin(value: unknown): string | undefined {
  const sound = typeof value === "string" && (value === "*" || /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s,]+$/i.test(value));
  return sound ? undefined : "an origin such as 'https://app.example', without a path";
}
