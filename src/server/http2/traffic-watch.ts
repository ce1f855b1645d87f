/** The part of a socket that counts its bytes. */
export interface CountedSocket {
  readonly bytesRead?: number;
  readonly bytesWritten?: number;
  /** Of node:net and node:tls. Sessions write to it, past the stream. */
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/** Bytes that belong to no request: so many at once, and so many more each second. */
const maxOverhead = 1024 * 1024;
const overheadPerSecond = 256 * 1024;
/** A client that receives so many bytes may send one of overhead, for the frames that open its window. */
const writtenPerOverhead = 32;
/** Bytes that count as progress of the connection: a client that opens its window by a byte makes none. */
const progress = 1024;

/**
 * Compares the bytes that a client has sent with those that were of use: heads and bodies. The rest are frames that Node
 * does not show: WINDOW_UPDATE, PRIORITY, frames of unknown types, and the heads of tiny DATA frames.
 */
export class TrafficWatch {
  readonly #socket: CountedSocket;
  readonly #max: number;
  #left: number;
  #read: number;
  #used = 0;
  #usedInAll = 0;
  #written = 0;
  #writtenBefore = 0;

  /** `window`: bytes of bodies that may have arrived and wait to be taken. They count as of use when they are. */
  constructor(socket: object, window: number) {
    this.#max = maxOverhead + window;
    this.#left = this.#max;
    this.#socket = socket as CountedSocket;
    this.#read = this.#socket.bytesRead ?? 0;
  }

  get isFlood(): boolean {
    return this.#left < 0;
  }

  get read(): number {
    return this.#socket.bytesRead ?? 0;
  }

  /** True if the system has taken all that was written; false if that is not known. */
  get isTaken(): boolean {
    return this.#socket._handle?.writeQueueSize === 0;
  }

  /** All bytes that were handed to the system. */
  get written(): number {
    return this.#socket.bytesWritten ?? 0;
  }

  /** All bytes that were handed to the system, and all of use that have arrived. */
  get moved(): number {
    return this.written + this.#usedInAll;
  }

  /** Bytes of use have arrived. */
  used(bytes: number): void {
    this.#used += bytes;
    this.#usedInAll += bytes;
  }

  /** Called at every tick. Returns true if the connection has sent next to nothing. */
  look(seconds: number): boolean {
    const { bytesRead = 0, bytesWritten = 0 } = this.#socket;
    const written = bytesWritten - this.#written;
    this.#written = bytesWritten;
    // Less than zero if bytes are taken that came earlier.
    const overhead = bytesRead - this.#read - this.#used;
    this.#read = bytesRead;
    this.#used = 0;
    this.#left -= overhead;
    if (this.#left >= 0) {
      this.#left = Math.min(this.#max, this.#left + overheadPerSecond * seconds + written / writtenPerOverhead);
    }
    if (bytesWritten - this.#writtenBefore < progress) return true;
    this.#writtenBefore = bytesWritten;
    return false;
  }
}
