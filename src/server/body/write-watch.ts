/** The part of a socket that shows how many of the written bytes have been taken. */
export interface WatchedSocket {
  readonly writableLength: number;
  readonly bytesWritten?: number;
}

/** Notices, by looking once a tick, that a client has stopped taking bytes. */
export class WriteWatch {
  readonly #socket: WatchedSocket;
  #taken = 0;
  #ticks = 0;

  constructor(socket: WatchedSocket) {
    this.#socket = socket;
  }

  /** Called at every tick: true if nothing was taken for more than so many of them. */
  isStalled(ticks: number): boolean {
    const waiting = this.#socket.writableLength;
    if (waiting === 0) {
      this.#ticks = 0;
      return false;
    }
    // The bytes that the system has taken: all that were ever written, less those that still wait here.
    const taken = (this.#socket.bytesWritten ?? 0) - waiting;
    if (taken !== this.#taken) {
      this.#taken = taken;
      this.#ticks = 0;
      return false;
    }
    return ++this.#ticks > ticks;
  }
}
