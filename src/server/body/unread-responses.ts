/** The code of connections that were ended because their clients do not read, in metrics and in the log. */
export const responsesUnread = "RESPONSES_UNREAD";

/** A connection, or its socket. */
export interface UnreadClient {
  destroy(): unknown;
}

/** Seconds above the bound in which a client has to take something. Counted in ticks, so a blocked event loop makes none late. */
const patience = 5;

interface Waiting {
  readonly bytes: number;
  /** The tick at which the client took some, or its first bytes began to wait. */
  readonly since: number;
}

/**
 * Counts the bytes of responses that wait for their clients, over all connections of a server, and bounds them: beyond,
 * the connections end whose clients have taken nothing for the longest. Those of the last seconds are spared up to twice
 * the bound: many responses at once are no attack. Bytes count that are left after a write, so a client that reads costs
 * nothing here.
 */
export class UnreadResponses {
  readonly #max: number;
  readonly #onEnd: (code: string) => void;
  /** What waits for each client. One that has taken some moves to the end. */
  readonly #waiting = new Map<UnreadClient, Waiting>();
  #used = 0;
  /** Counts the seconds above the bound. */
  #tick = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `max` is 0 for no bound. `onEnd` is called for each connection that is ended. */
  constructor(max: number, onEnd: ((code: string) => void) | undefined) {
    this.#max = max === 0 ? Number.POSITIVE_INFINITY : max;
    this.#onEnd = onEnd ?? (() => {});
  }

  get used(): number {
    return this.#used;
  }

  /** So many bytes wait for a client now; 0 if it has taken all or has left. */
  set(client: UnreadClient, bytes: number): void {
    const known = this.#waiting.get(client);
    const before = known?.bytes ?? 0;
    if (bytes === before) return;
    const since = known === undefined || bytes < before ? this.#tick : known.since;
    if (bytes < before) this.#waiting.delete(client);
    if (bytes > 0) this.#waiting.set(client, { bytes, since });
    this.#used += bytes - before;
    if (this.#used > this.#max) this.#shrink();
  }

  #shrink(): void {
    for (const [client, { bytes, since }] of this.#waiting) {
      if (this.#used <= this.#max || (this.#used <= 2 * this.#max && this.#tick < since + patience)) break;
      this.#waiting.delete(client);
      this.#used -= bytes;
      this.#onEnd(responsesUnread);
      client.destroy();
    }
    // Clients that do nothing cause no call of `set`: a timer looks at them while they are too many.
    if (this.#used > this.#max) this.#timer ??= setInterval(() => this.#step(), 1000).unref();
  }

  #step(): void {
    this.#tick++;
    if (this.#used > this.#max) this.#shrink();
    if (this.#used > this.#max || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
