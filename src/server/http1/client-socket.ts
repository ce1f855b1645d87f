import type { Duplex } from "node:stream";
import type { SendBytes } from "../../http/files/file-stream.js";
import type { DirectReceiver } from "../../http/source.js";

/** Takes the bytes of a response: a socket, or a response of node:http. */
export interface Sink {
  /** Returns false if the client is behind; the next call should then wait for `drained`. */
  write(data: string | Uint8Array, encoding?: BufferEncoding): boolean;
  /**
   * Sends bytes of an open file after what was written before, without waiting for the client or the disk; returns how many.
   * Where it returns 0, the next bytes must be read and written.
   */
  readonly sendFile?: SendBytes;
  /** Keeps writes together until `uncork`. */
  cork(): void;
  uncork(): void;
}

/**
 * The socket of one client, as far as a connection uses it. Sockets of node:net and node:tls and any other duplex stream
 * fit as they are; another transport needs no more than this, and calls `received`, `ended`, `drained` and `gone` of the
 * connection.
 */
export interface ClientSocket extends Sink {
  /** True if the bytes given to `received` are lent: valid until the call returns. */
  readonly lends?: boolean;
  readonly remoteAddress?: string | undefined;
  /** Bytes that were written and that the system has not taken. */
  readonly writableLength: number;
  /** All bytes that were ever written, with those that the system has not taken. */
  readonly bytesWritten?: number;
  readonly destroyed?: boolean;
  /** Sends the last text, if any, and closes this side. */
  end(): unknown;
  end(text: string, encoding: BufferEncoding): unknown;
  /** Stops and restarts the calls of `received`. */
  pause(): unknown;
  resume(): unknown;
  /** Closes at once. */
  destroy(): unknown;
  /** Closes at once and lets the client see an error; throws if the socket has no resets. */
  resetAndDestroy?(): unknown;
  /** The connection as a stream, for another protocol, if the socket itself is none. */
  release?(): Duplex;
  /** Gives the connection to another protocol as it is, if the socket is no stream. `closed` is called when it has ended. */
  handTo?(receiver: DirectReceiver, closed: () => void): void;
}
