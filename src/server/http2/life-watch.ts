import type { ServerHttp2Session } from "node:http2";
import type { Clock } from "../clock.js";
import type { TrafficWatch } from "./traffic-watch.js";

/** Seconds after which a connection with open streams is asked for a sign of life, if nothing has arrived before. */
const askAfter = 5;
/** Bytes of an answer to a PING. */
const pingFrame = 17;

/**
 * Asks the client of a connection with open streams for a sign of life, with a PING. Without one the streams of a client
 * that has disappeared would run on. So would those of a client that breaks the protocol: nghttp2 tells the client (GOAWAY),
 * then reads and sends nothing, not even that the client leaves, and does not tell Node of it. The PING shows it: it does
 * not leave, though nothing is in its way. So the next tick after bytes have arrived asks.
 */
export class LifeWatch {
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #traffic: TrafficWatch;
  /** The tick since which the client should answer, and the bytes that had moved then; null if it was not asked. */
  #asked: { readonly tick: number; readonly moved: number } | null = null;
  /** The tick of the last sign of life. */
  #last: number;
  /** All bytes that had arrived with the last PING, or with its answer. */
  #read = 0;
  /** The bytes that had been written when a PING did not leave; null if it did. */
  #stuck: number | null = null;

  constructor(session: ServerHttp2Session, clock: Clock, traffic: TrafficWatch) {
    this.#session = session;
    this.#clock = clock;
    this.#traffic = traffic;
    this.#last = clock.tick;
  }

  /** The first stream is opened. */
  begin(): void {
    this.#last = this.#clock.tick;
  }

  /**
   * Called at every tick, while streams are open. True if the session has ended, or the client does not answer in time. An
   * answer comes behind the bytes that are on their way: while these move, it is waited for.
   */
  isDead(patience: number): boolean {
    const { tick } = this.#clock;
    const { moved, read } = this.#traffic;
    if (this.#stuck !== null && this.#isStuck(this.#stuck)) return true;
    const due = this.#last + this.#clock.ticksFor(askAfter);
    if (read !== this.#read || (this.#asked === null && tick >= due)) this.#ask(moved, read);
    if (this.#asked === null) return false;
    if (this.#asked.moved !== moved) this.#asked = { tick, moved };
    return tick - Math.max(this.#asked.tick, due) > patience;
  }

  #ask(moved: number, read: number): void {
    this.#read = read;
    const answered = (error: Error | null): void => {
      // The session is being closed.
      if (error) return;
      this.#asked = null;
      this.#last = this.#clock.tick;
      this.#read = this.#traffic.read;
      this.#traffic.used(pingFrame);
    };
    if (!this.#session.ping(answered)) return;
    this.#asked ??= { tick: this.#clock.tick, moved };
    const { written } = this.#traffic;
    // Node sends it before this is called.
    setImmediate(() => {
      this.#stuck = this.#isStuck(written) ? written : null;
    });
  }

  /** True if frames wait, nothing has been written since, and the system would take more. */
  #isStuck(written: number): boolean {
    const { outboundQueueSize = 0 } = this.#session.state;
    return outboundQueueSize > 0 && this.#traffic.written === written && this.#traffic.isTaken;
  }
}
