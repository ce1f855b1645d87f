/** The number of subjects whose refreshes are counted; the ones counted first are forgotten. */
const maxSubjects = 10_000;

/**
 * Limits the tokens that one subject can refresh in a time. Each refresh revokes a token, and the store keeps it until it
 * expires: without a limit one client could fill the store, and nothing could be revoked any more.
 */
export class RefreshQuota {
  readonly #counts = new Map<string, { count: number; readonly end: number }>();
  readonly #limit: number;
  readonly #seconds: number;

  constructor(limit: number, seconds: number) {
    this.#limit = limit;
    this.#seconds = seconds;
  }

  /** Counts one refresh. Returns 0, or the number of seconds to wait if there were too many. */
  take(subject: string, now: number = Date.now() / 1000): number {
    const known = this.#counts.get(subject);
    if (known === undefined || known.end <= now) {
      this.#counts.delete(subject);
      if (this.#counts.size >= maxSubjects) this.#counts.delete(this.#counts.keys().next().value!);
      this.#counts.set(subject, { count: 1, end: now + this.#seconds });
      return 0;
    }
    if (known.count >= this.#limit) return Math.max(1, Math.ceil(known.end - now));
    known.count++;
    return 0;
  }

  /** Takes back one refresh that failed. */
  giveBack(subject: string): void {
    const known = this.#counts.get(subject);
    if (known !== undefined && known.count > 0) known.count--;
  }
}
