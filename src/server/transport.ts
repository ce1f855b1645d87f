import type { Duplex } from "node:stream";
import type { TlsOptions, Server as TlsServer } from "node:tls";
import type { HttpError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { BodyMemory } from "./body/body-memory.js";
import type { Http2Fields } from "./http2/fields.js";
import type { Http2StreamHandlers } from "./http2/streams.js";

/**
 * The application, as a transport sees it. The response comes at once if nothing had to wait. The function never throws
 * and never rejects; the body of the response is a string, bytes, a stream or null (files have been resolved).
 */
export type Dispatch = (request: Request) => Response | Promise<Response>;

export interface ServerLimits {
  /** Seconds for the whole head of a request to arrive, from its first byte (from the connection for the first). */
  readonly headTimeout: number;
  /** Seconds without progress of an expected body: 1 KiB more of it, or its end. */
  readonly bodyTimeout: number;
  /** Seconds for a body to arrive that is read into memory, from the call that reads it. None for a streamed body. */
  readonly bodyTotalTimeout: number;
  /** Seconds a connection may wait for its next request. */
  readonly keepAliveTimeout: number;
  /** Seconds without the client taking a byte of a response. */
  readonly writeTimeout: number;
  /** Open connections at once; further ones are closed. 0 for no limit. */
  readonly maxConnections: number;
  /** Bytes of request line and header fields together (431). */
  readonly maxHeadSize: number;
  /** Bytes of the request target (414). */
  readonly maxTargetSize: number;
  /** Header fields of one request (431). */
  readonly maxHeaders: number;
  /** Bytes of bodies that are read into memory at once, of all requests of the process (503). 0 for no limit. */
  readonly maxBodyMemory: number;
}

export const defaultLimits: ServerLimits = {
  headTimeout: 10,
  bodyTimeout: 30,
  bodyTotalTimeout: 300,
  keepAliveTimeout: 75,
  writeTimeout: 30,
  maxConnections: 0,
  maxHeadSize: 32 * 1024,
  maxTargetSize: 16 * 1024,
  maxHeaders: 200,
  maxBodyMemory: 256 * 1024 * 1024,
};

/** Milliseconds that a draining server waits for the first request of a connection that it has just accepted. */
export const firstRequestGrace = 500;

export interface TransportOptions extends ServerLimits {
  readonly tls: TlsOptions | null;
  /** Called with the server of TLS connections, before it listens. */
  readonly onSecureServer?: ((server: TlsServer) => void) | undefined;
  /** Called for each TLS handshake that fails or takes too long. */
  readonly onHandshakeError?: ((error: Error) => void) | undefined;
  /** Called with errors outside of a handler: a body that throws while it is sent, a fault of our own. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called for each request that is refused before the application sees it, or in place of its response. */
  readonly onRefusal?: ((error: HttpError) => void) | undefined;
  /** Called with a code for each connection that is ended because its client abuses HTTP/2. */
  readonly onAbuse?: ((code: string) => void) | undefined;
  /** The options of HTTP/2. */
  readonly http2?: Http2Fields | undefined;
  /** Handles streams of HTTP/2 that belong to another protocol. */
  readonly http2Streams?: Http2StreamHandlers | undefined;
  /** The transport that decides which connections this one serves, if it is not this one. */
  readonly outer?: { readonly bodyMemory: BodyMemory } | undefined;
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
   * and resolves when the last connection is closed. Connections that were upgraded are not waited for.
   */
  drain(): Promise<void>;
  /** Ends every connection at once, upgraded ones too. */
  destroy(): void;
  /** Open connections. */
  readonly connections: number;
}

export type TransportFactory = (dispatch: Dispatch, options: TransportOptions) => Transport;
