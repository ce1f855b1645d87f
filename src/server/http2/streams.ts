import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { BodyMemory } from "../body/body-memory.js";
import type { Peer } from "../http1/source.js";

/** The connection of a stream, and the header fields as they were received. */
export interface Http2StreamPeer extends Peer {
  /** Names and values in turn, pseudo-header fields included. */
  readonly rawHeaders: readonly string[];
  /** Bounds the bytes that all connections keep in memory. */
  readonly bodyMemory: BodyMemory;
  /** To be called with each piece of the body that arrives. All other bytes count as a flood of frames. */
  received(bytes: number): void;
}

/**
 * Handles a stream of HTTP/2 in place of the application: another protocol on the same port, such as gRPC. Returns true if
 * it has taken the stream. It then responds, ends and resets the stream itself. Returns false to leave the stream, with
 * nothing done to it, to the next handler and at last to the application.
 */
export type Http2StreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  peer: Http2StreamPeer,
) => boolean;

/** The handlers that an application has for streams of another protocol. */
export class Http2StreamHandlers {
  readonly #handlers: Http2StreamHandler[] = [];

  add(handler: Http2StreamHandler): void {
    this.#handlers.push(handler);
  }

  /** Offers a stream to each handler in turn: true if one has taken it. */
  offer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, peer: () => Http2StreamPeer): boolean {
    if (this.#handlers.length === 0 || !isOffered(headers)) return false;
    const given = peer();
    return this.#handlers.some((handler) => handler(stream, headers, given));
  }
}

/** Other content types are not offered: an ordinary request costs one comparison. */
function isOffered(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/grpc") === true;
}

const handlersOf = new WeakMap<object, Http2StreamHandlers>();

/**
 * The handlers of one application. `application` is its host: the object that features get and that the server runs.
 * Handlers can be added until the server listens, and later too.
 */
export function http2Streams(application: object): Http2StreamHandlers {
  let handlers = handlersOf.get(application);
  if (handlers === undefined) handlersOf.set(application, (handlers = new Http2StreamHandlers()));
  return handlers;
}
