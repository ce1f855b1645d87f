import { backoff } from "../../kit/time/backoff.js";

const firstPause = 100;
const longestPause = 5000;

/**
 * Topics that could not be reached. Each rests, and the others continue. If the broker itself cannot be reached, all of them
 * rest. The program names the topics, so their number is small.
 */
export class RestingTopics {
  readonly #topics = new Map<string, { failures: number; until: number }>();

  failed(topic: string): void {
    const failures = (this.#topics.get(topic)?.failures ?? 0) + 1;
    this.#topics.set(topic, { failures, until: performance.now() + backoff(failures - 1, firstPause, longestPause) });
  }

  succeeded(topic: string): void {
    if (this.#topics.size > 0) this.#topics.delete(topic);
  }

  /** The topics that rest now. */
  now(): string[] {
    if (this.#topics.size === 0) return [];
    const now = performance.now();
    return [...this.#topics].filter(([, { until }]) => until > now).map(([topic]) => topic);
  }

  /** Milliseconds until the next one may be tried again; null if none rests. */
  left(): number | null {
    const now = performance.now();
    const ends = [...this.#topics.values()].map(({ until }) => until - now).filter((left) => left > 0);
    return ends.length === 0 ? null : Math.min(...ends);
  }
}
