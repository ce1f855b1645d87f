import type { Duplex } from "node:stream";
import type { TlsOptions, Server as TlsServer } from "node:tls";
import type { HttpError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { BodyMemory } from "./body/body-memory.js";
import type { UnreadResponses } from "./body/unread-responses.js";
import type { Http2Fields } from "./http2/fields.js";
import type { Http2StreamHandlers } from "./http2/streams.js";
import type { ServerLimits } from "./limits.js";

/**
 * The application, as a transport sees it. The response comes at once if nothing had to wait. The function never throws
 * and never rejects; the body of the response is a string, bytes, a stream or null (files have been resolved).
 */
export type Dispatch = (request: Request) => Response | Promise<Response>;

/** Connections that the system holds until they are accepted. */
export const backlog = 1024;

export interface TransportOptions extends ServerLimits {
  readonly tls: TlsOptions | null;
  /** Called with the server of TLS connections, before it listens. */
  readonly onSecureServer?: ((server: TlsServer) => void) | undefined;
  /** Called for each TLS handshake that fails or takes too long. */
  readonly onHandshakeError?: ((error: Error) => void) | undefined;
  /** Called with errors outside of a handler: a body that throws while it is sent, an internal fault. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called for each request that is refused before the application sees it, or in place of its response. */
  readonly onRefusal?: ((error: HttpError) => void) | undefined;
  /** Called with a code for each connection that is ended because its client abuses HTTP/2 or does not read. */
  readonly onAbuse?: ((code: string) => void) | undefined;
  /** The options of HTTP/2. */
  readonly http2?: Http2Fields | undefined;
  /** Handles streams of HTTP/2 that belong to another protocol. */
  readonly http2Streams?: Http2StreamHandlers | undefined;
  /** The transport that decides which connections this one serves, if it is not this one. */
  readonly outer?: { readonly bodyMemory: BodyMemory; readonly unread: UnreadResponses } | undefined;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** A Unix socket in place of host and port. */
  readonly path?: string | undefined;
}

/** Accepts connections, reads requests, writes responses. */
export interface Transport {
  /** Rejects with the system's error when the address cannot be had. Resolves to the address, with the real port. */
  listen(address: ListenAddress): Promise<ListenAddress>;
  /** Serves one connection that was accepted elsewhere (tests, an outer server). */
  accept(socket: Duplex): void;
  /**
   * Accepts nothing more, closes idle connections, waits for requests in flight (their responses say `Connection: close`),
   * and resolves when the last connection is closed. Connections that were upgraded are not waited for. With `replaced`
   * another server takes over: a client that is about to repeat its requests on a connection gets one more response there.
   */
  drain(replaced?: boolean): Promise<void>;
  /** Ends every connection at once, upgraded ones too. */
  destroy(): void;
  /** Open connections. */
  readonly connections: number;
}

export type TransportFactory = (dispatch: Dispatch, options: TransportOptions) => Transport;
