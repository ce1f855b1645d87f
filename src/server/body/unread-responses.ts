/** The code of connections that were ended because their clients do not read, in metrics and in the log. */
export const responsesUnread = "RESPONSES_UNREAD";

/** A connection, or its socket. */
export interface UnreadClient {
  destroy(): unknown;
}

/**
 * Counts the bytes of responses that wait for their clients, over all connections of a server, and bounds them: beyond,
 * the connections end whose clients have taken nothing for the longest. Bytes count that are left after a write, so a
 * client that reads costs nothing here.
 */
export class UnreadResponses {
  readonly #max: number;
  readonly #onEnd: (code: string) => void;
  /** The bytes that wait for each client. One that has taken some moves to the end. */
  readonly #waiting = new Map<UnreadClient, number>();
  #used = 0;

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
    const before = this.#waiting.get(client) ?? 0;
    if (bytes === before) return;
    if (bytes < before) this.#waiting.delete(client);
    if (bytes > 0) this.#waiting.set(client, bytes);
    this.#used += bytes - before;
    if (this.#used > this.#max) this.#shrink();
  }

  #shrink(): void {
    for (const [client, bytes] of this.#waiting) {
      if (this.#used <= this.#max) return;
      this.#waiting.delete(client);
      this.#used -= bytes;
      this.#onEnd(responsesUnread);
      client.destroy();
    }
  }
}
