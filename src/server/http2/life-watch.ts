import type { ServerHttp2Session } from "node:http2";
import type { Clock } from "../clock.js";

/** Seconds after which a connection with open streams is asked for a sign of life. */
const askAfter = 5;
/** Bytes of an answer to a PING. */
const pingFrame = 17;

/**
 * Asks the client of a connection with open streams for a sign of life, with a PING. Without one the streams of a client
 * that is gone would run on. So would those of a client that breaks the protocol: nghttp2 tells the client (GOAWAY), from
 * then on reads and sends nothing, and does not tell Node of it.
 */
export class LifeWatch {
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #heard: (bytes: number) => void;
  /** The tick since which the client should answer, and the bytes that had moved then; null if it was not asked. */
  #asked: { readonly tick: number; readonly moved: number } | null = null;
  /** The tick of the last sign of life. */
  #last: number;

  /** `heard` is called with the bytes of an answer. */
  constructor(session: ServerHttp2Session, clock: Clock, heard: (bytes: number) => void) {
    this.#session = session;
    this.#clock = clock;
    this.#heard = heard;
    this.#last = clock.tick;
  }

  /** The first stream is opened. */
  begin(): void {
    this.#last = this.#clock.tick;
  }

  /**
   * Called at every tick, while streams are open, with the bytes that have moved so far. True if the client does not answer
   * in time. An answer comes behind the bytes that are on their way: while these move, it is waited for.
   */
  isDead(patience: number, moved: number): boolean {
    const { tick } = this.#clock;
    if (this.#asked === null) {
      if (tick - this.#last >= this.#clock.ticksFor(askAfter)) this.#ask(moved);
      return false;
    }
    if (this.#asked.moved !== moved) this.#asked = { tick, moved };
    return tick - this.#asked.tick > patience;
  }

  #ask(moved: number): void {
    const answered = (error: Error | null): void => {
      // The session is being closed.
      if (error) return;
      this.#asked = null;
      this.#last = this.#clock.tick;
      this.#heard(pingFrame);
    };
    if (this.#session.ping(answered)) this.#asked = { tick: this.#clock.tick, moved };
  }
}
