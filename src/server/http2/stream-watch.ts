/** The part of a stream that shows how many of the written bytes wait to be sent. */
export interface WatchedStream {
  readonly writableLength: number;
}

/** A stream without progress has so many times the limit while others on its connection make some. */
const patience = 10;

/**
 * Notices, by looking once a tick, that a client does not take the bytes of a stream. A stream does not show how many bytes
 * of a write have left, so a client that takes some on the connection has more time for this stream.
 */
export class StreamWatch {
  #waiting = 0;
  #counted = 0;
  #ticks = 0;
  /** Ticks in which the connection made no progress either. */
  #quietTicks = 0;

  constructor(private readonly stream: WatchedStream) {}

  /** The bytes that wait, less those that waited when this was last called. */
  change(waiting: number = this.stream.writableLength): number {
    const change = waiting - this.#counted;
    this.#counted = waiting;
    return change;
  }

  /** The client has taken some bytes. */
  progressed(): void {
    this.#ticks = 0;
    this.#quietTicks = 0;
  }

  /**
   * Called at every tick: true if nothing was taken for more than so many of them. `ended`: the response is complete and the
   * client has not taken all of it. `quiet`: the connection as a whole has sent next to nothing since the last tick.
   */
  isStalled(ticks: number, ended: boolean, quiet: boolean): boolean {
    const waiting = this.stream.writableLength;
    if ((waiting === 0 && !ended) || waiting !== this.#waiting) {
      this.#waiting = waiting;
      this.progressed();
      return false;
    }
    if (quiet) this.#quietTicks++;
    return ++this.#ticks > ticks * patience || this.#quietTicks > ticks;
  }
}
