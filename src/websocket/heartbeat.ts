import type { RawSocket } from "./ws.js";

/** What a heartbeat asks of the socket that it watches. */
export interface Watched {
  /** Whether we ourselves have not read, now or at any time since this was last asked: an answer may lie unread. */
  wasPaused(): boolean;
  /** Grows with every message handed to the system. */
  readonly sent: number;
  giveUp(reason: string): void;
}

/** Pings the peer at every beat. One that is not heard of until the next, by a pong or anything else, is given up. */
export class Heartbeat {
  readonly #raw: RawSocket;
  readonly #watched: Watched;
  readonly #timer: NodeJS.Timeout;
  #beat = 0;
  /** The beat of the last ping, and the one in which it was handed to the system; -1 while it waits behind data. */
  #pingedIn = 0;
  #sentIn = -1;
  #sentBefore = 0;
  #waiting = false;

  constructor(raw: RawSocket, watched: Watched, milliseconds: number) {
    this.#raw = raw;
    this.#watched = watched;
    this.#timer = setInterval(() => this.#tick(), milliseconds);
    this.#timer.unref();
  }

  /** Something came from the peer. */
  heard(): void {
    this.#waiting = false;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#beat++;
    const paused = this.#watched.wasPaused();
    if (!this.#waiting || paused) this.#ping(this.#beat);
    else if (this.#isLost()) {
      // After a time in which the process did not run, the answer lies there unread: it is read before this.
      setImmediate(() => {
        if (this.#waiting) this.#watched.giveUp("the peer did not answer a ping");
      });
    }
    this.#sentBefore = this.#watched.sent;
  }

  #ping(beat: number): void {
    this.#waiting = true;
    this.#pingedIn = beat;
    this.#sentIn = -1;
    this.#raw.ping((error) => {
      if (!error && beat === this.#pingedIn) this.#sentIn = this.#beat;
    });
  }

  /**
   * A ping that waits behind a long message cannot have been answered: then it counts whether the output moves. One
   * that left late has the whole of the next beat.
   */
  #isLost(): boolean {
    if (this.#sentIn === -1) return this.#watched.sent === this.#sentBefore;
    return this.#beat - this.#sentIn >= (this.#sentIn === this.#pingedIn ? 1 : 2);
  }
}
