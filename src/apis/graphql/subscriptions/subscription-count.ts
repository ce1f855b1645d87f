/** Counts the open subscriptions of a process, up to a limit. */
export class SubscriptionCount {
  #open = 0;

  constructor(private readonly limit: number) {}

  /** False if there are as many as allowed. */
  take(): boolean {
    if (this.#open >= this.limit) return false;
    this.#open++;
    return true;
  }

  release(): void {
    this.#open--;
  }
}
