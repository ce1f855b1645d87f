/** Counts the open subscriptions of a process, up to a limit. */
export class SubscriptionCount {
  readonly #limit: number;
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False if there are as many as allowed. */
  take(): boolean {
    if (this.#open >= this.#limit) return false;
    this.#open++;
    return true;
  }

  release(): void {
    this.#open--;
  }
}
