import type { Duplex } from "node:stream";
import type { ClientCertificate } from "./peer/client-certificate.js";

/**
 * One request as a transport knows it. A request object is made from it. Nothing here is parsed before it is read, so a
 * transport can keep the head as offsets into the bytes that it received.
 */
export interface RequestSource {
  readonly method: string;
  /** The path as received, in origin form: `/books`. */
  readonly path: string;
  /** The query as received, with its question mark: `?genre=sf`; empty where there is none. */
  readonly search: string;
  /** The peer's address; empty where there is none. */
  readonly remoteAddress: string;
  /** True if the connection is encrypted. */
  readonly secure: boolean;
  /** The body, or null when the request has none. */
  readonly body: IncomingBody | null;
  /** True if the client requests a WebSocket. */
  readonly wantsWebSocket: boolean;
  /** The version of HTTP; undefined where it is not known. */
  readonly httpVersion?: "1.0" | "1.1" | "2";
  /** The certificate of the client, if it has one. */
  readonly clientCertificate?: ClientCertificate | null;
  /** The value of a field named in lower case; repeated fields are joined by ", " (Cookie by "; "). */
  header(name: string): string | undefined;
  /** Names and values in turn, as received. */
  headerLines(): readonly string[];
}

/** The body of a request while it arrives. */
export interface IncomingBody {
  /** The Content-Length; undefined for a chunked body. */
  readonly length: number | undefined;
  /** The whole body if all of it has arrived, else null. Reading this property costs nothing. */
  readonly received: Uint8Array | null;
  /** Reads to the end; rejects with 413 as soon as the body is known to exceed `limit` bytes. */
  read(limit: number): Promise<Uint8Array>;
  /** The body as it arrives, with back-pressure; throws 413 past `limit`. Either this or `read`, once. */
  stream(limit: number): AsyncIterableIterator<Uint8Array>;
}

/**
 * Called for a response with status 101, with the connection and the bytes that came after the request. `waits` is to be
 * called with the bytes that wait for the client, when they are many.
 */
export interface UpgradeCallback {
  (socket: Duplex, head: Buffer, waits: (bytes: number) => void): void;
  /** In place of that for a socket that is no stream, if the new protocol can use one. */
  direct?: (socket: DirectSocket, waits: (bytes: number) => void) => DirectReceiver;
}

/** A socket that is no stream. */
export interface DirectSocket {
  /** Bytes that were written and that the system has not taken. */
  readonly writableLength: number;
  /** All bytes that were ever written. */
  readonly bytesWritten: number;
  /** Returns false if bytes wait for the client; `drained` is called when the system has taken them. */
  write(data: string | Uint8Array, encoding?: BufferEncoding): boolean;
  /** Closes this side when everything is sent. */
  end(): void;
  pause(): void;
  resume(): void;
  destroy(): void;
}

/** Takes the events of a socket that is no stream. */
export interface DirectReceiver {
  /** The bytes are lent: valid until the call returns. The receiver may change them. */
  received(bytes: Buffer, start: number, end: number): void;
  ended(): void;
  drained(): void;
  fellBehind(): void;
  gone(): void;
  broken(error: unknown): void;
}
