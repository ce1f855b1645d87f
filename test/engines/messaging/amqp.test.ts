import { connect } from "amqplib";
import { AmqpConfig, type AmqpTopicOptions, App } from "stoa";
import { createAmqpBroker, type MessagingError } from "stoa/messaging";
import { testBroker, testBrokerFaults } from "stoa/testing/broker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { service } from "../../support/service.js";
import { clients, connected, gate, silent, uniqueTopic, until } from "./harness.js";
import { startTunnel, type Tunnel } from "./tunnel.js";

const url = service("rabbitmq");

describe.skipIf(!url)("RabbitMQ", () => {
  const backend = { connect: () => createAmqpBroker({ url: url!, connectTimeout: "1m" }) };
  const open = clients(backend);
  testBroker({ name: "RabbitMQ", ...backend, abilities: ["broadcast", "delay"] }, { describe, it });

  describe("behind a connection that breaks", () => {
    let tunnel: Tunnel;
    beforeAll(async () => {
      tunnel = await startTunnel(Number(new URL(url!).port));
    });
    afterAll(() => tunnel.close());
    const behindTunnel = {
      name: "RabbitMQ",
      connect: () => createAmqpBroker(`amqp://guest:guest@127.0.0.1:${tunnel.port}`),
      stop: () => tunnel.cut(),
      start: () => tunnel.mend(),
    };
    testBrokerFaults(behindTunnel, { describe, it });
  });

  it("A message that no queue would receive is refused", async () => {
    const client = await open();
    const name = uniqueTopic();
    const failure = await client.publish(name, 1).catch((error: MessagingError) => error);
    expect(failure).toMatchObject({
      code: "UNKNOWN_TOPIC",
      message: `no queue takes messages of '${name}': start a consumer of it first`,
    });
  });

  it("A way that is ended breaks everything that RabbitMQ has not confirmed, and the next messages go on another", async () => {
    const broker = await createAmqpBroker({ url: url!, mandatory: false });
    const way = await broker.publishWay();
    const sent = {
      topic: uniqueTopic(),
      id: "1",
      key: null,
      headers: {},
      body: Buffer.from("1"),
      timestamp: 0,
      delayMs: 0,
    };
    const send = (on: typeof way) => new Promise<MessagingError | null>((resolve) => on.publish(sent, resolve));
    expect(await send(way)).toBeNull();
    way.end!();
    way.end!();
    await until(async () => (await broker.publishWay()) !== way);
    expect(await send(way)).toMatchObject({ code: "UNREACHABLE", transient: true });
    expect(await send(await broker.publishWay())).toBeNull();
    await broker.close();
  });

  it("A broadcast that is paused gets the messages of its pause when it resumes, and its queue ends when it is closed", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: unknown[] = [];
    // Of two messages one can come before the broker knows of the pause; the other stays in the queue.
    const options = { broadcast: true, prefetch: 1, concurrency: 1 };
    const consumer = await client.subscribe(name, options, ({ value }) => void seen.push(value));
    consumer.pause();
    for (const value of [1, 2]) await client.publish(name, value);
    consumer.resume();
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 2]);
    await consumer.close();
    await expect(client.publish(name, 3)).rejects.toMatchObject({ code: "UNKNOWN_TOPIC" });
  });

  it("A topic exchange delivers to the groups whose pattern fits the key", async () => {
    const name = uniqueTopic();
    const config = { topics: { [name]: { type: "topic" as const, bindings: { eu: ["order.eu.*"] } } } };
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, ...config }) });
    const seen: string[] = [];
    for (const group of ["eu", "all"]) {
      await client.subscribe(name, { group }, (message) => {
        seen.push(`${group}:${message.value}`);
      });
    }
    await client.publish(name, 1, { key: "order.us.1" });
    await client.publish(name, 2, { key: "order.eu.2" });
    await client.publish(name, 3, { key: "order.us.3", delay: 0.03 });
    await client.publish(name, 4, { key: "order.eu.4", delay: 0.03 });
    await until(() => seen.length === 6);
    expect(seen.toSorted()).toEqual(["all:1", "all:2", "all:3", "all:4", "eu:2", "eu:4"]);
    await client.close();
  });

  it("A topic uses the exchange that its configuration names", async () => {
    const [name, exchange] = [uniqueTopic(), uniqueTopic("exchange")];
    const config = new AmqpConfig({ url: url!, topics: { [name]: { exchange } } });
    const client = await connected({ connect: () => createAmqpBroker(config) });
    const seen: unknown[] = [];
    await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    const connection = await connect(url!);
    const channel = await connection.createChannel();
    channel.publish(exchange, "", Buffer.from("1"), { contentType: "application/json" });
    await until(() => seen.length === 1);
    await client.publish(name, 2);
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 2]);
    await connection.close();
    await client.close();
  });

  it("Direct exchanges route by key, and headers exchanges by header", async () => {
    const [direct, byHeader] = [uniqueTopic("direct"), uniqueTopic("headers")];
    const topics: Record<string, AmqpTopicOptions> = {
      [direct]: { type: "direct", bindings: { mail: ["mail"] } },
      [byHeader]: { type: "headers", bindings: { vip: { tier: "gold" } } },
    };
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, topics, mandatory: false }) });
    const seen: unknown[] = [];
    const note = (message: { value: unknown }) => {
      seen.push(message.value);
    };
    await client.subscribe(direct, { group: "mail" }, note);
    await client.subscribe(byHeader, { group: "vip" }, note);
    await expect(client.subscribe(direct, { group: "other" }, note)).rejects.toThrow("has a direct exchange");
    await client.publish(direct, "sms", { key: "sms" });
    await client.publish(direct, "mail", { key: "mail" });
    await client.publish(byHeader, "silver", { headers: { tier: "silver" } });
    await client.publish(byHeader, "gold", { headers: { tier: "gold" } });
    await until(() => seen.length === 2);
    expect(seen).toEqual(["mail", "gold"]);
    const delay = 0.05;
    await client.publish(direct, "late sms", { key: "sms", delay });
    await client.publish(direct, "late mail", { key: "mail", delay });
    await client.publish(byHeader, "late silver", { headers: { tier: "silver" }, delay });
    await until(() => seen.length === 3);
    await client.publish(byHeader, "late gold", { headers: { tier: "gold" }, delay });
    await until(() => seen.length === 4);
    expect(seen).toEqual(["mail", "gold", "late mail", "late gold"]);
    await client.close();
  });

  it("A message from a foreign publisher without id, time and type is handled", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(name, {}, (message) => {
      seen.push([message.text, message.headers.count, message.key, message.id.length]);
    });
    const foreign = await connect(url!);
    const channel = await foreign.createConfirmChannel();
    channel.publish(name, "", Buffer.from("plain text"), { headers: { Count: 3, list: ["a"] } });
    await channel.waitForConfirms();
    await foreign.close();
    await until(() => seen.length === 1);
    expect(seen).toEqual([["plain text", "3", null, 36]]);
  });

  it("A message from a foreign publisher that has an impossible time is handled, and handled again after it failed", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: number[] = [];
    await client.subscribe(name, { retry: { delay: 0.01 } }, (message) => {
      seen.push(message.attempt);
      expect(message.timestamp.getTime()).toBeGreaterThan(Date.now() - 3_600_000);
      if (message.attempt === 1) throw new Error("once");
    });
    const connection = await connect(url!);
    const channel = await connection.createConfirmChannel();
    channel.publish(name, "", Buffer.from("1"), { headers: { "stoa-time": "Infinity" } });
    await channel.waitForConfirms();
    await connection.close();
    await until(() => seen.includes(2));
  });

  it("Messages of all sizes arrive in the order in which they were published", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: number[] = [];
    await client.subscribe(name, { concurrency: 1, prefetch: 50 }, (message) => {
      seen.push((message.value as { n: number }).n);
    });
    // Some fit a block of memory with others, some have a frame of their own, and some have several.
    const sizes = [0, 100, 3000, 20_000, 10, 300_000, 15_000, 50];
    const values = Array.from({ length: 80 }, (_, n) => ({ n, text: "x".repeat(sizes[n % sizes.length]!) }));
    await Promise.all(values.map((value) => client.publish(name, value)));
    await until(() => seen.length === values.length);
    expect(seen).toEqual(values.map(({ n }) => n));
  });

  it("A message that was delivered too often without a result is a dead letter", async () => {
    const client = await open();
    const name = uniqueTopic();
    const declared = await client.subscribe(name, { maxDeliveries: 3 }, () => {});
    await declared.close();
    await client.publish(name, 1);
    const doomed = await createAmqpBroker(url);
    const request = {
      topic: name,
      group: "stoa",
      prefetch: 1,
      from: "start" as const,
      broadcast: false,
      deadLetterTopic: `${name}.dead`,
      maxDeliveries: 3,
    };
    for (let time = 0; time < 3; time++) {
      const delivered = gate();
      const consumer = await doomed.consume(request, { deliver: delivered.open, lost: () => {}, failed: () => {} });
      await delivered.opened;
      // As when the process is killed: nothing was settled.
      await consumer.close();
    }
    await doomed.close();
    await client.subscribe(name, { maxDeliveries: 3 }, () => {
      throw new Error("must not run");
    });
    await until(async () => (await client.deadLetters.list(name)).length === 1);
    const [letter] = await client.deadLetters.list(name);
    expect(letter).toMatchObject({ reason: "undeliverable", error: "delivered 3 times without a result" });
  });

  it("The broker itself makes a dead letter of a message that no consumer settles, and the letter is listed", async () => {
    const strict = { connect: () => createAmqpBroker({ url: url!, deliveryLimit: 1 }) };
    const client = await connected(strict);
    const name = uniqueTopic();
    const request = {
      topic: name,
      group: "billing",
      prefetch: 1,
      from: "start" as const,
      broadcast: false,
      deadLetterTopic: `${name}.dead`,
      maxDeliveries: 20,
    };
    const broker = await strict.connect();
    const consumer = await broker.consume(request, {
      deliver: (delivery) => void delivery.release(),
      lost: () => {},
      failed: () => {},
    });
    await client.publish(name, 1);
    await until(async () => (await client.deadLetters.list(name)).length === 1);
    const [letter] = await client.deadLetters.list(name);
    expect(letter).toMatchObject({
      reason: "undeliverable",
      error: "dead-lettered by the broker: delivery_limit",
      group: "billing",
      topic: name,
    });
    await consumer.close();
    await broker.close();
    await client.close();
  });

  it("A consumer that is paused and resumed many times makes no dead letters of messages that it has not begun", async () => {
    // The broker makes a dead letter of a message that comes back twice.
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, deliveryLimit: 1 }) });
    const name = uniqueTopic();
    const seen = new Set<unknown>();
    const consumer = await client.subscribe(name, {}, ({ value }) => void seen.add(value));
    const count = 100;
    consumer.pause();
    await client.publishBatch(
      name,
      Array.from({ length: count }, (_, value) => ({ value })),
    );
    for (let turn = 0; turn < 20; turn++) {
      consumer.resume();
      consumer.pause();
      // Messages arrive meanwhile.
      await consumer.lag();
    }
    consumer.resume();
    await until(() => seen.size === count, "all messages are handled");
    expect(await client.deadLetters.list(name)).toEqual([]);
    await client.close();
  });

  it("A consumer takes no more messages than 'prefetchCount', whatever its concurrency is", async () => {
    const client = await connected({ connect: () => createAmqpBroker({ url: url!, prefetchCount: 1 }) });
    const name = uniqueTopic();
    let running = 0;
    let most = 0;
    let handled = 0;
    await client.subscribe(name, { concurrency: 5 }, async () => {
      most = Math.max(most, ++running);
      await client.publish(`${name}.copy`, 1).catch(() => {});
      running--;
      handled++;
    });
    await client.publishBatch(
      name,
      Array.from({ length: 10 }, (_, value) => ({ value })),
    );
    await until(() => handled === 10);
    expect(most).toBe(1);
    await client.close();
  });

  it("An unreachable broker, a wrong password, an unknown virtual host and another kind of queue are clear errors", async () => {
    const closed = await createAmqpBroker({ url: "amqp://guest:secret@127.0.0.1:1", connectTimeout: 0.5 });
    await expect(closed.open()).rejects.toThrow(
      "the AMQP broker at 127.0.0.1:1 is unreachable: connect ECONNREFUSED 127.0.0.1:1",
    );
    const wrong = new URL(url!);
    wrong.password = "wrong";
    const refused = await (await createAmqpBroker(wrong.href)).open().catch((error: MessagingError) => error);
    expect(refused).toMatchObject({ code: "REFUSED", message: expect.stringContaining("ACCESS_REFUSED") });
    expect((refused as MessagingError).message).not.toContain("wrong");
    const elsewhere = new URL(url!);
    elsewhere.pathname = "/nowhere";
    await expect((await createAmqpBroker(elsewhere.href)).open()).rejects.toMatchObject({
      code: "REFUSED",
      message: `the AMQP broker at ${elsewhere.host}/nowhere refused: its virtual host does not exist, is full, or is closed to this user`,
    });
    const name = uniqueTopic();
    const client = await open();
    await client.subscribe(name, {}, () => {});
    const other = await connected({ connect: () => createAmqpBroker({ url: url!, queueType: "classic" }) });
    await expect(other.subscribe(name, {}, () => {})).rejects.toThrow("PRECONDITION_FAILED");
    await other.close();
  });

  it("A topic that the broker refuses does not fail messages of other topics that are published with it", async () => {
    const client = await open();
    const [good, bad] = [uniqueTopic(), uniqueTopic()];
    const seen: unknown[] = [];
    await client.subscribe(good, {}, ({ value }) => void seen.push(value));
    const foreign = await connect(url!);
    const channel = await foreign.createChannel();
    await channel.assertExchange(bad, "direct", { durable: false });
    const results = await Promise.allSettled([
      client.publish(good, 1),
      client.publish(bad, 2),
      client.publish(good, 3),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { code: "REFUSED" } });
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 3]);
    await channel.deleteExchange(bad);
    await foreign.close();
  });

  it("A reply through the broker's own way back is sent without a complaint in the log", async () => {
    const logger = silent();
    const client = await open({ logger });
    const name = uniqueTopic();
    await client.subscribe(name, {}, ({ value }) => (value as number) * 2);
    expect(await client.request(name, 21)).toBe(42);
    await client.close();
    expect(logger.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  it("A request that asks for a reply to a place that does not exist is handled, and publishes continue", async () => {
    const client = await open();
    const name = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    const foreign = await connect(url!);
    const channel = await foreign.createChannel();
    const places = [
      "amq.rabbitmq.reply-to",
      "amq.rabbitmq.reply-to.x",
      "amq.rabbitmq.reply-to.g1h2AA5yZXBseUAxMjcuMC4wLjEAAAAAAAAAAAAAAAA=.abc",
      "amq.rabbitmq.trace",
      "none.replies",
    ];
    for (const place of places) {
      channel.publish(name, "", Buffer.from("1"), { headers: { "stoa-reply-to": place } });
      if (place !== places[0]) channel.publish(name, "", Buffer.from("1"), { replyTo: place });
    }
    await until(() => seen.length === places.length * 2 - 1);
    await client.publish(name, 2);
    await until(() => seen.includes(2));
    expect(seen).toHaveLength(places.length * 2);
    await foreign.close();
  });

  it("An application whose broker is away at the start fails with the reason", async () => {
    const app = new App();
    app.logger = silent();
    app.enableAmqp({ url: "amqp://127.0.0.1:1", connectTimeout: 0.5 });
    await expect(app.start()).rejects.toThrow("is unreachable");
  });

  it("An application publishes and handles messages over AMQP, and its end waits for the handler", async () => {
    const app = new App();
    app.logger = silent();
    app.enable_amqp(new AmqpConfig(url!, 5));
    app.enableHealthChecks();
    const name = uniqueTopic();
    const begun = gate();
    let handled = 0;
    app.onMessage(name, async () => {
      begun.open();
      await new Promise((resolve) => setTimeout(resolve, 10));
      handled++;
    });
    await app.start();
    const report = (await (await app.request("/health/ready")).json()) as { status: string };
    expect(report.status).toBe("UP");
    await app.publish(name, 1);
    await begun.opened;
    await app.stop();
    expect(handled).toBe(1);
  });
});

describe("AmqpConfig", () => {
  it("AmqpConfig accepts fields in both spellings, or url and prefetch count, and has defaults", () => {
    expect(new AmqpConfig().prefetch_count).toBe(20);
    expect(new AmqpConfig("amqp://broker/prod", 7)).toMatchObject({ prefetchCount: 7, address: "broker/prod" });
    expect(new AmqpConfig({ prefetch_count: 9 }).prefetchCount).toBe(9);
  });

  it("AmqpConfig refuses wrong options, and never shows the password", () => {
    expect(() => new AmqpConfig("http://guest:secret@host")).toThrow("option 'url' in AmqpConfig must be a URL");
    expect(() => new AmqpConfig({ prefetchCount: 0 })).toThrow("option 'prefetchCount' in AmqpConfig must be");
    expect(() => new AmqpConfig({ prefetch: 3 } as object)).toThrow("unknown option 'prefetch' in AmqpConfig");
    const config = new AmqpConfig("amqp://user:secret@host");
    expect(JSON.stringify(config)).not.toContain("secret");
  });
});
