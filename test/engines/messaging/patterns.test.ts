import { App } from "stoa";
import { MemoryBroker, MemoryHub, type MessagingError, openMessaging } from "stoa/messaging";
import { testMessages } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { clients, silent, uniqueTopic, until } from "./harness.js";

const quick = { delay: 0.02, factor: 1, jitter: 0 };

describe("Consumers by pattern", () => {
  const hub = new MemoryHub();
  const open = clients({ connect: () => new MemoryBroker({ hub }) });

  it("A handler gets the messages of all topics that match, those that exist and those that come later", async () => {
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker();
    const seen: unknown[] = [];
    app.onMessage(/^orders\./g, (message) => {
      seen.push([message.topic, message.value]);
    });
    const messages = testMessages(app);
    await messages.publish("orders.eu", 1);
    await messages.publish("orders.us", 2);
    await messages.publish("invoices.eu", 3);
    await messages.publish("orders.eu", 4);
    await messages.idle();
    expect(seen).toEqual([
      ["orders.eu", 1],
      ["orders.us", 2],
      ["orders.eu", 4],
    ]);
    expect(app.messaging.consumers.map((consumer) => consumer.topic)).toEqual(["orders.eu", "orders.us"]);
    await app.stop();
  });

  it("A message that fails is retried and becomes a dead letter of its own topic, which no pattern matches", async () => {
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker();
    const attempts: string[] = [];
    app.onMessage(/orders|replies|failed/, { retry: { attempts: 2, ...quick } }, (message) => {
      attempts.push(`${message.topic} ${message.attempt}`);
      throw new Error("broken");
    });
    app.onMessage("bills", { retry: false, deadLetter: "bills.failed" }, () => {
      throw new Error("broken too");
    });
    const messages = testMessages(app);
    await messages.publish("orders.eu", 1);
    await messages.publish("orders.us", 2);
    await messages.publish("bills", 3);
    await messages.publish("abc.replies", 4);
    await messages.publish("__orders", 5);
    await messages.idle();
    expect(attempts.sort()).toEqual(["orders.eu 1", "orders.eu 2", "orders.us 1", "orders.us 2"]);
    expect((await messages.deadLetters("orders.eu")).map(({ text }) => text)).toEqual(["1"]);
    expect((await messages.deadLetters("orders.us")).map(({ text }) => text)).toEqual(["2"]);
    expect(messages.published("bills.failed").map(({ value }) => value)).toEqual([3]);
    await app.stop();
  });

  it("A schema and a single delivery of a test work with a pattern", async () => {
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker();
    const seen: number[] = [];
    app.onMessage(/^orders\./, { schema: z.object({ id: z.number() }) }, ({ value }) => void seen.push(value.id));
    const messages = testMessages(app);
    expect(await messages.deliver("orders.eu", { id: 7 })).toMatchObject({ result: "done" });
    expect(await messages.deliver("orders.eu", { id: "x" })).toMatchObject({ result: "dead" });
    await expect(messages.deliver("bills.eu", { id: 7 })).rejects.toThrow("the topic 'bills.eu' has no consumer");
    expect(seen).toEqual([7]);
    await app.stop();
  });

  it("A subscription is paused, resumed, measured, moved and closed for all its topics", async () => {
    const client = await open();
    const [prefix, seen] = [uniqueTopic("p"), [] as unknown[]];
    const old = `${prefix}.old`;
    const none = await client.subscribe(/^no such topic$/, {}, () => {});
    expect(none.stats()).toMatchObject({ running: 0, held: 0, results: { done: 0, dead: 0 } });
    await none.close();
    await client.publish(old, "before");
    const subscription = await client.subscribe(new RegExp(`^${prefix}\\.`), { from: "end" }, ({ value }) => {
      seen.push(value);
    });
    expect(subscription).toMatchObject({ topic: `/^${prefix}\\./`, group: "stoa", connected: true, paused: false });
    // What was there is skipped, as `from` says. Nothing of a topic that is new is.
    await client.publish(old, 1);
    await client.publish(`${prefix}.new`, 2);
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 2]);
    subscription.pause();
    await client.publish(`${prefix}.new`, 3);
    await client.publish(`${prefix}.later`, 4);
    await until(async () => (await subscription.lag()) === 2);
    expect(client.consumers.filter(({ paused }) => paused)).toHaveLength(3);
    subscription.resume();
    await until(() => seen.length === 4);
    await until(() => subscription.stats().results.done === 4 && subscription.stats().held === 0);
    await subscription.seek("start");
    await until(() => seen.length === 9);
    expect(seen.slice(4).sort()).toEqual([1, 2, 3, 4, "before"]);
    await expect(subscription.seek({ partition: 0, offset: 1 })).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(await subscription.lags()).toBeNull();
    await subscription.close();
    expect(client.consumers).toEqual([]);
    await client.publish(`${prefix}.last`, 5);
    await client.publish(old, 6);
    expect(client.consumers).toEqual([]);
    expect(seen).toHaveLength(9);
  });

  it("A broker that cannot list its topics refuses a pattern at the start and names the cure", async () => {
    const client = await clientWithout("journal");
    const cure = "the journal broker cannot list its topics, so /^orders/ cannot be consumed: name them";
    await expect(client.subscribe(/^orders/, {}, () => {})).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: cure,
    } satisfies Partial<MessagingError>);
    expect(client.consumers).toEqual([]);
  });

  it("A wrong handler or option is an error at the start, also if no topic matches", async () => {
    const client = await open();
    await expect(client.subscribe(/^none/, {}, undefined as never)).rejects.toThrow("needs a handler");
    await expect(client.subscribe(/^none/, { guards: [() => true] }, () => {})).rejects.toThrow("need an application");
    const app = new App();
    app.enableMemoryBroker();
    expect(() => app.onMessage(/^orders/, undefined as never)).toThrow("onMessage('/^orders/') needs a handler");
  });

  async function clientWithout(name: string) {
    const broker = new MemoryBroker({ name });
    Object.assign(broker, { watchTopics: undefined });
    return openMessaging(broker, { logger: silent() });
  }
});
