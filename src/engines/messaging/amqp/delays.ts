import type { AmqpChannel } from "./amqplib.js";

/** Milliseconds of the shortest delay. */
const unit = 10;
/** With 28 levels the longest delay is 31 days. */
const levels = 28;

/** The header of a message that waits: the place to which it goes afterwards. */
export const destinationHeader = "stoa-to";

/** The place of a message after its delay. Queues and exchanges can have equal names. */
export function destination(kind: "queue" | "exchange", name: string): string {
  return `${kind}:${name}`;
}

/**
 * Delays of messages. A delay is a sum of powers of two: for each power there is a queue without consumers, whose messages
 * expire after that time into the exchange of the next smaller power. The routing key has the bits of the delay, so a message
 * waits in the queues of its bits that are set, the longest first, and goes to its destination then.
 *
 * The queues are quorum queues that dead-letter at least once: a message stays in its queue until the next one has confirmed it. A
 * classic queue drops a message that expires while the next queue does not run, as at each start of the broker. The queues
 * never expire, since a queue that expires takes its messages along. So their number must not depend on the delays in use.
 */
export class Delays {
  readonly #prefix: string;

  /** @param application names the queues: one application whose queues are stuck does not hold up others */
  constructor(application: string) {
    // No topic has a colon in its name.
    this.#prefix = `${application}:delay`;
  }

  /** The levels that a message with this delay passes. */
  levelsOf(delayMs: number): number {
    return 32 - Math.clz32(unitsOf(delayMs));
  }

  /** The exchange at which a message begins to wait. */
  exchangeOf(delayMs: number): string {
    return this.#level(this.levelsOf(delayMs) - 1);
  }

  routingKeyOf(delayMs: number): string {
    return unitsOf(delayMs).toString(2).padStart(levels, "0").split("").join(".");
  }

  /** Declares the first levels, the lowest first: one that exists has all below it. */
  async declare(channel: AmqpChannel, count: number): Promise<void> {
    await this.#declareEnd(channel);
    for (let level = 0; level < count; level++) {
      const name = this.#level(level);
      const next = level === 0 ? this.#end : this.#level(level - 1);
      const args = {
        "x-queue-type": "quorum",
        "x-message-ttl": unit * 2 ** level,
        "x-dead-letter-exchange": next,
        "x-dead-letter-strategy": "at-least-once",
        // Required by the strategy. The queue has no limit.
        "x-overflow": "reject-publish",
      };
      await channel.assertExchange(name, "topic", { durable: true });
      await channel.assertQueue(name, { durable: true, arguments: args });
      const before = "*.".repeat(levels - 1 - level);
      const after = level === 0 ? "" : ".#";
      await channel.bindQueue(name, name, `${before}1${after}`);
      await channel.bindExchange(next, name, `${before}0${after}`);
    }
  }

  /** Lets messages go to a destination after their delay. */
  async bind(channel: AmqpChannel, kind: "queue" | "exchange", name: string): Promise<void> {
    await this.#declareEnd(channel);
    const args = { "x-match": "all", [destinationHeader]: destination(kind, name) };
    if (kind === "queue") await channel.bindQueue(name, this.#end, "", args);
    else await channel.bindExchange(name, this.#end, "", args);
  }

  /**
   * The exchange behind the last level. Its queue takes a copy of each message and drops it at once: a message whose destination
   * was deleted would otherwise stay at the head of its level, and 32 of them would hold up all others.
   */
  async #declareEnd(channel: AmqpChannel): Promise<void> {
    const end = this.#end;
    await channel.assertExchange(end, "headers", { durable: true });
    await channel.assertQueue(end, {
      durable: true,
      arguments: { "x-queue-type": "classic", "x-message-ttl": 0 },
    });
    await channel.bindQueue(end, end, "", { "x-match": "all" });
  }

  get #end(): string {
    return `${this.#prefix}:end`;
  }

  #level(level: number): string {
    return `${this.#prefix}:${level}`;
  }
}

function unitsOf(delayMs: number): number {
  return Math.min(Math.max(1, Math.ceil(delayMs / unit)), 2 ** levels - 1);
}
