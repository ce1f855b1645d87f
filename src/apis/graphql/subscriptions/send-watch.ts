/**
 * Gives a client up that takes nothing of what it is sent. The limit of the socket itself counts bytes, and one message
 * of a subscription that waits may be less.
 */
export class SendWatch {
  #waiting = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `timeout` is in milliseconds. */
  constructor(
    private readonly timeout: number,
    private readonly giveUp: () => void,
  ) {}

  /** Watches a message until it has been taken. */
  async watch(sending: Promise<void>): Promise<void> {
    this.#waiting++;
    this.#timer ??= setTimeout(this.giveUp, this.timeout).unref();
    try {
      await sending;
    } finally {
      this.#waiting--;
      if (this.#waiting > 0) this.#timer?.refresh();
      else this.end();
    }
  }

  end(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
