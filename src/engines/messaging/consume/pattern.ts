import type { Logger } from "../../../kit/logger.js";
import type { Broker, SeekTarget } from "../broker.js";
import { MessagingError } from "../errors.js";
import { type Consumer, noResults, type Subscription, type SubscriptionStats } from "./consumer.js";
import type { WorkResult } from "./in-flight-message.js";
import { replySuffix } from "./reply.js";

export interface PatternParts {
  readonly pattern: RegExp;
  readonly group: string;
  readonly broker: Broker;
  readonly logger: Logger;
  /** True for a topic of dead letters of a consumer of this process. */
  readonly isDeadLetters: (topic: string) => boolean;
  /** Starts the consumer of a topic. A topic that was found later is new: its first messages are unread. */
  readonly start: (topic: string, state: { readonly isNew: boolean; readonly isPaused: boolean }) => Promise<Consumer>;
  readonly onClosed: (subscription: PatternSubscription) => void;
}

/**
 * A consumer for each topic whose name matches. A new topic does not disturb the others, and retries, dead letters and the order
 * of each topic are those of any consumer.
 */
export class PatternSubscription implements Subscription {
  readonly topic: string;
  readonly group: string;
  readonly #parts: PatternParts;
  /** Null for one that is being started. */
  readonly #consumers = new Map<string, Consumer | null>();
  #starting: Promise<unknown>[] | null = [];
  #unwatch = (): void => {};
  #paused = false;
  #ended = false;

  constructor(parts: PatternParts) {
    this.topic = String(parts.pattern);
    this.group = parts.group;
    this.#parts = parts;
  }

  /** Starts the consumers of the topics that exist. Rejects if the topics cannot be listed, or one cannot be consumed. */
  async open(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #open(): Promise<void> {
    const { broker, logger } = this.#parts;
    if (broker.watchTopics === undefined) throw unsupported(broker, this.topic);
    // Consumers that start in the same turn name their topics of dead letters first.
    await Promise.resolve();
    this.#unwatch = await broker.watchTopics({
      found: (names) => this.#found(names),
      failed: (error) => logger.warn(`the topics of ${this.topic} could not be looked for`, { error }),
    });
    if (this.#ended) this.#unwatch();
    const starting = this.#starting ?? [];
    this.#starting = null;
    const failed = (await Promise.allSettled(starting)).find(({ status }) => status === "rejected");
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  matches(topic: string): boolean {
    return matches(this.#parts.pattern, topic) && !this.#parts.isDeadLetters(topic);
  }

  /** Starts the consumer of a topic, if the pattern matches it and it has none. */
  async join(topic: string): Promise<void> {
    if (this.#consumers.has(topic) || this.#ended || !this.matches(topic)) return;
    this.#consumers.set(topic, null);
    try {
      const isNew = this.#starting === null;
      const consumer = await this.#parts.start(topic, { isNew, isPaused: this.#paused });
      this.#consumers.set(topic, consumer);
      // The subscription may have been closed, paused or resumed in between.
      if (this.#ended) await consumer.close();
      else if (this.#paused) consumer.pause();
      else if (consumer.paused) consumer.resume();
    } catch (error) {
      this.#consumers.delete(topic);
      throw error;
    }
  }

  get connected(): boolean {
    return this.#all.every(({ connected }) => connected);
  }

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
    for (const consumer of this.#all) consumer.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const consumer of this.#all) consumer.resume();
  }

  async seek(to: SeekTarget): Promise<void> {
    if (typeof to === "object" && !(to instanceof Date))
      throw new MessagingError("UNSUPPORTED", `${this.topic} stands for many topics: seek an offset in one of them`);
    await Promise.all(this.#all.map((consumer) => consumer.seek(to)));
  }

  async lag(): Promise<number | null> {
    const lags = await Promise.all(this.#all.map((consumer) => consumer.lag()));
    return lags.reduce<number | null>((sum, lag) => (lag === null || sum === null ? null : sum + lag), 0);
  }

  /** Partitions of several topics have the same numbers. */
  async lags(): Promise<null> {
    return null;
  }

  stats(): SubscriptionStats {
    const sum = { running: 0, held: 0, results: { ...noResults } };
    for (const { running, held, results } of this.#all.map((consumer) => consumer.stats())) {
      sum.running += running;
      sum.held += held;
      for (const [name, count] of Object.entries(results)) sum.results[name as WorkResult] += count;
    }
    return sum;
  }

  /** Looks for no further topics. */
  end(): void {
    this.#ended = true;
    this.#unwatch();
    this.#parts.onClosed(this);
  }

  async close(): Promise<void> {
    this.end();
    await Promise.all(this.#all.map((consumer) => consumer.close()));
  }

  get #all(): Consumer[] {
    return [...this.#consumers.values()].filter((consumer) => consumer !== null);
  }

  #found(names: readonly string[]): void {
    if (this.#ended) return;
    const { logger } = this.#parts;
    for (const topic of names) {
      if (this.#consumers.has(topic) || !this.matches(topic)) continue;
      const joined = this.join(topic);
      if (this.#starting !== null) this.#starting.push(joined);
      else
        joined.then(
          () => logger.info(`${this.topic} has found the topic '${topic}'`),
          // The next look tries again.
          (error: unknown) => logger.warn(`${this.topic} cannot consume the topic '${topic}'`, { error }),
        );
    }
    // A topic that is deleted has lost its consumer. One that is missing in the reply of a broker that starts has not.
    const known = new Set(names);
    for (const [topic, consumer] of this.#consumers) {
      if (known.has(topic) || consumer === null || consumer.connected) continue;
      this.#consumers.delete(topic);
      consumer.close().catch(() => {});
    }
  }
}

/** The topics of a broker that match a pattern. */
export async function topicsLike(pattern: RegExp, broker: Broker): Promise<readonly string[]> {
  let topics: readonly string[] = [];
  const found = (names: readonly string[]) => {
    topics = names.filter((name) => matches(pattern, name));
  };
  if (broker.watchTopics === undefined) throw unsupported(broker, String(pattern));
  (await broker.watchTopics({ found, failed: () => {} }))();
  return topics;
}

/** Topics of Kafka itself, and the usual ones of dead letters and replies, match no pattern. */
function matches(pattern: RegExp, topic: string): boolean {
  return !(topic.startsWith("__") || topic.endsWith(".dead") || topic.endsWith(replySuffix)) && pattern.test(topic);
}

function unsupported({ name }: Broker, pattern: string): MessagingError {
  const cure =
    name === "amqp" ? "consume one topic whose exchange has the type 'topic', and bind its routing keys" : "name them";
  return new MessagingError(
    "UNSUPPORTED",
    `the ${name} broker cannot list its topics, so ${pattern} cannot be consumed: ${cure}`,
  );
}
