import type { Duplex } from "node:stream";

/** Notices, by looking once a tick, that a client has stopped taking what is sent to it. */
export class WriteWatch {
  readonly #socket: Duplex;
  #taken = 0;
  #ticks = 0;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Called at every tick: whether nothing was taken for more than so many of them. */
  isStalled(ticks: number): boolean {
    const waiting = this.#socket.writableLength;
    if (waiting === 0) {
      this.#ticks = 0;
      return false;
    }
    // What the system has taken: all that was ever written, less what still waits here.
    const taken = ((this.#socket as { bytesWritten?: number }).bytesWritten ?? 0) - waiting;
    if (taken !== this.#taken) {
      this.#taken = taken;
      this.#ticks = 0;
      return false;
    }
    return ++this.#ticks > ticks;
  }
}
