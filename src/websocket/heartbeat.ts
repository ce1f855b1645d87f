import type { RawSocket } from "./ws.js";

/** The parts of a socket that its heartbeat uses. */
export interface Watched {
  /** True if reading is paused, or was paused since the last call: a pong may wait unread. */
  wasPaused(): boolean;
  /** Grows with every message handed to the system. */
  readonly sent: number;
  giveUp(reason: string): void;
}

/**
 * Pings the peer at every beat. A peer that sends nothing until the next beat, neither a pong nor anything else, is
 * given up.
 */
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
      // If the process was suspended, the pong waits unread: it is read before this callback.
      setImmediate(() => {
        if (this.#waiting) this.#watched.giveUp("the peer did not send a pong");
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
   * A ping behind a long message has not reached the peer yet: then the peer is alive if the output moves. A ping that
   * left late has the whole of the next beat.
   */
  #isLost(): boolean {
    if (this.#sentIn === -1) return this.#watched.sent === this.#sentBefore;
    return this.#beat - this.#sentIn >= (this.#sentIn === this.#pingedIn ? 1 : 2);
  }
}
