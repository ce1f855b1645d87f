import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAmqpBroker, type Subscription } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { startRabbit } from "../../../scripts/services/rabbitmq.mjs";
import { service } from "../../support/service.js";
import { connected, silent, uniqueTopic, until } from "./harness.js";

/** A broker of its own, which is stopped, killed and started again with its data. */
describe.skipIf(!service("rabbitmq"))("RabbitMQ restarted under load", () => {
  let folder: string;
  let port: number;
  let rabbit: Awaited<ReturnType<typeof startRabbit>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-rabbit-restart-"));
    port = await freePort();
    rabbit = await startRabbit(folder, port);
  }, 180_000);

  afterAll(async () => {
    await rabbit?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it("No confirmed message of a classic or a quorum queue is lost when RabbitMQ is stopped, killed and started again, each key keeps its order, and the consumers connect again by themselves", async () => {
    const loads = await Promise.all(
      (["classic", "quorum"] as const).map((queueType) => Load.start(rabbit.value, queueType)),
    );
    await Promise.all(loads.map((load) => load.more(50)));
    // In an orderly way first: the node writes down the members of a quorum queue a second after the queue was made, and one
    // that is killed before that has lost the messages of the queue, whatever a client does.
    await stopInOrder();
    rabbit = await startRabbit(folder, port, rabbit.ports);
    await Promise.all(loads.map((load) => load.more(100)));
    await rabbit.stop();
    rabbit = await startRabbit(folder, port, rabbit.ports);
    for (const load of loads) await load.finish();
  }, 240_000);

  async function stopInOrder(): Promise<void> {
    const pid = Number(await readFile(join(folder, "pid"), "utf8"));
    process.kill(pid, "SIGTERM");
    await until(() => !isAlive(pid), "the node has ended");
    await rabbit.stop();
  }
});

const prefetch = 20;

/** One producer and one consumer of a topic. */
class Load {
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
    const options = { timeout: 150_000, logger: load.#log };
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
    await until(() => this.#published >= published && this.#handled >= handled, what, 120_000);
  }

  /** Ends the load after some more messages, and checks that each was handled, in the order of its key. */
  async finish(): Promise<void> {
    this.#last = this.#published + 100;
    await this.#publishing;
    const total = this.#published;
    const values = () => [...this.#seen.values()].flat();
    await until(
      () => values().length >= total && new Set(values()).size === total,
      `the ${this.#type} queue is empty`,
      60_000,
    );
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
