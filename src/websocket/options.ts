import { isToken } from "../http/headers.js";
import type { Request } from "../http/request.js";
import { type Checks, checkOption, is } from "../internal/options.js";
import type { ChannelLimits } from "./channel.js";

/** The pages that may open a WebSocket: a list of origins, any, or a function that returns true for accepted ones. */
export type Origins = readonly string[] | "*" | ((origin: string | undefined, request: Request) => boolean);

/** The options of a WebSocket route. */
export interface SocketOptions {
  /** Default: pages of the same host. A client that sends no Origin is not a browser and is accepted by a list too. */
  readonly origins?: Origins;
  /** The supported subprotocols. The first one of the client's list that is supported is chosen. */
  readonly protocols?: readonly string[];
  /** Bytes of one message; a longer one ends the connection with 1009. Default 1 MiB. */
  readonly maxMessageSize?: number;
  /** Bytes of received messages that may wait for `recv`; with more, reading from the peer is paused. Default 1 MiB. */
  readonly maxQueued?: number;
  /** Bytes sent that may wait for the peer to take them. Default 1 MiB. */
  readonly maxBuffered?: number;
  /** Seconds in which the peer may take no message while more than `maxBuffered` waits. Default 30. */
  readonly sendTimeout?: number;
  /** Seconds between pings; a peer that is silent from one to the next is given up. 0 for none. Default 30. */
  readonly heartbeat?: number;
  /** Seconds to wait for the close frame of the peer. Default 10. */
  readonly closeTimeout?: number;
  /** Enables compression of messages (permessage-deflate). Default false: it costs memory and time per socket. */
  readonly compression?: boolean;
}

// `ws` keeps the largest size in 32 bits.
const maxSize = 2 ** 31 - 1;

export const socketOptionChecks: Checks<SocketOptions> = {
  origins: is.either(is.oneOf("*"), is.list(isOrigin), is.function),
  protocols: is.list((value) => (typeof value === "string" && isToken(value) ? undefined : "a token")),
  maxMessageSize: is.integer(1, maxSize),
  maxQueued: is.integer(1, maxSize),
  maxBuffered: is.integer(1, maxSize),
  sendTimeout: is.number(0.001, 86_400),
  heartbeat: is.number(0, 86_400),
  closeTimeout: is.number(0.001, 86_400),
  compression: is.boolean,
};

/** The options with their defaults. */
export interface SocketSettings {
  readonly origins: Origins | null;
  readonly protocols: readonly string[];
  readonly closeTimeout: number;
  readonly compression: boolean;
  readonly limits: ChannelLimits;
}

const mebibyte = 1024 * 1024;

/** Reads the socket options of a route. Seconds become milliseconds. */
export function socketSettings(given: SocketOptions): SocketSettings {
  for (const name of Object.keys(socketOptionChecks) as (keyof SocketOptions)[]) {
    if (given[name] !== undefined) checkOption("a WebSocket route", name, given[name], socketOptionChecks[name]);
  }
  const { origins } = given;
  return {
    origins: Array.isArray(origins) ? origins.map(normalized) : (origins ?? null),
    protocols: given.protocols ?? [],
    closeTimeout: (given.closeTimeout ?? 10) * 1000,
    compression: given.compression ?? false,
    limits: {
      maxMessageSize: given.maxMessageSize ?? mebibyte,
      maxQueued: given.maxQueued ?? mebibyte,
      maxBuffered: given.maxBuffered ?? mebibyte,
      sendTimeout: (given.sendTimeout ?? 30) * 1000,
      heartbeat: (given.heartbeat ?? 30) * 1000,
    },
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
