import { createAmqpBroker, type Messaging, type Subscription } from "stoa/messaging";
import { expect } from "vitest";
import { connected, silent, uniqueTopic, until } from "./harness.js";

export const queueTypes = ["classic", "quorum"] as const;

/** Milliseconds that messages wait: longer than the broker takes to end. */
export const wait = 8000;

const prefetch = 20;

/** One producer and one consumer of a topic. */
export class Load {
  readonly #log = silent();
  readonly #type: string;
  readonly #seen = new Map<string, number[]>();
  #client!: Awaited<ReturnType<typeof connected>>;
  #consumer!: Subscription;
  #published = 0;
  #handled = 0;
  #last = Number.POSITIVE_INFINITY;
  #publishing!: Promise<void>;

  private constructor(type: string) {
    this.#type = type;
  }

  static async start(url: string, queueType: "classic" | "quorum"): Promise<Load> {
    const load = new Load(queueType);
    const options = { timeout: 150, logger: load.#log };
    load.#client = await connected({ connect: () => createAmqpBroker({ url, queueType }) }, options);
    const name = uniqueTopic(queueType);
    load.#consumer = await load.#client.subscribe(name, { concurrency: 5, prefetch }, (message) => {
      load.#handled++;
      const values = load.#seen.get(message.key!);
      if (values === undefined) load.#seen.set(message.key!, [message.value as number]);
      else values.push(message.value as number);
    });
    load.#publishing = load.#publish(name);
    return load;
  }

  /** Resolves when so many more messages were confirmed, and so many more handled. */
  async more(count: number): Promise<void> {
    const [published, handled] = [this.#published + count, this.#handled + count];
    const what = `${count} more messages pass the ${this.#type} queue`;
    await until(() => this.#published >= published && this.#handled >= handled, what);
  }

  /** Ends the load after some more messages, and checks that each was handled, in the order of its key. */
  async finish(): Promise<void> {
    this.#last = this.#published + 100;
    await this.#publishing;
    const total = this.#published;
    const values = () => [...this.#seen.values()].flat();
    await until(() => values().length >= total && new Set(values()).size === total, `the ${this.#type} queue is empty`);
    for (const list of this.#seen.values()) {
      const first = [...new Set(list)];
      expect(first).toEqual(first.toSorted((a, b) => a - b));
    }
    const doubled = values().length - total;
    // Each time the connection breaks, those come again that were handled and not yet acknowledged: as many as the prefetch. And
    // the message that was being published is sent again, since nobody knows if the broker has it; also on a connection that
    // a broker takes and ends while it starts.
    const count = (end: string) => this.#log.lines.filter(({ message }) => message.endsWith(end)).length;
    const breaks = count("lost its broker");
    expect(breaks).toBeGreaterThanOrEqual(2);
    expect(doubled).toBeLessThanOrEqual(breaks * (prefetch + 1) + count("cannot connect"));
    expect(this.#consumer.connected).toBe(true);
    console.log(
      `RabbitMQ restarted twice, ${this.#type} queue: sent ${total}, handled ${total}, doubled ${doubled}, connections lost ${breaks}`,
    );
    await this.#client.close();
  }

  async #publish(name: string): Promise<void> {
    while (this.#published < this.#last) {
      await this.#client.publish(name, this.#published, { key: `k${this.#published % 4}` });
      this.#published++;
    }
  }
}

/** Messages of a topic whose handler fails once, and messages with a delay. */
export class Waiting {
  readonly #client: Messaging;
  readonly #type: string;
  readonly #topic = uniqueTopic("waiting");
  readonly #handled = new Set<unknown>();
  #consumer!: Subscription;
  #published = 0;

  private constructor(client: Messaging, type: string) {
    this.#client = client;
    this.#type = type;
  }

  static async start(url: string, queueType: "classic" | "quorum"): Promise<Waiting> {
    const connect = () => createAmqpBroker({ url, queueType });
    const client = await connected({ connect }, { timeout: 150, logger: silent() });
    const waiting = new Waiting(client, queueType);
    const retry = { delay: wait / 1000, factor: 1, jitter: 0 };
    waiting.#consumer = await client.subscribe(waiting.#topic, { retry }, ({ value, attempt }) => {
      if (String(value).startsWith("fails") && attempt === 1) throw new Error("not yet");
      waiting.#handled.add(value);
    });
    return waiting;
  }

  /** Publishes so many messages that fail, and as many with a delay. All of them wait at the broker afterwards. */
  async publish(count: number): Promise<void> {
    const retried = this.#consumer.stats().results.retried + count;
    const values = Array.from({ length: count }, (_, n) => this.#published + n);
    this.#published += 2 * count;
    await Promise.all([
      ...values.map((n) => this.#client.publish(this.#topic, `fails ${n}`)),
      ...values.map((n) => this.#client.publish(this.#topic, `waits ${n}`, { delay: wait / 1000 })),
    ]);
    await until(() => this.#consumer.stats().results.retried === retried, "the messages wait for their second attempt");
  }

  /** Resolves when all messages were handled. */
  async handled(): Promise<void> {
    const all = () => this.#handled.size === this.#published;
    await until(all, "all messages are handled", 400_000).catch((cause) => {
      const figures = `${this.#handled.size} of ${this.#published} messages of the ${this.#type} queue`;
      throw new Error(`${figures} were handled`, { cause });
    });
  }

  async finish(): Promise<void> {
    await this.handled();
    expect(await this.#client.deadLetters.list(this.#topic)).toEqual([]);
    await this.#client.close();
  }
}
