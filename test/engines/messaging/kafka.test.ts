import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Admin, Consumer, Producer } from "@platformatic/kafka";
import { App, LogBrokerConfig, type LogBrokerOptions } from "stoa";
import { createKafkaBroker, type Delivery, type MessagingError } from "stoa/messaging";
import { testBroker } from "stoa/testing/broker";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GroupOffsets } from "../../../src/engines/messaging/kafka/group/group-offsets.js";
import { service } from "../../support/service.js";
import { clients, connected, silent, uniqueTopic, until } from "./harness.js";

const address = service("kafka");

describe.skipIf(!address)("Kafka", () => {
  // The shortest session that brokers allow: members of a group learn of each other in half a second.
  const settings = { brokers: [address!], groupId: uniqueTopic("group"), sessionTimeout: 6 };
  const backend = { connect: () => createKafkaBroker(settings) };
  const open = clients(backend);
  testBroker({ name: "Kafka", ...backend, abilities: ["broadcast", "seek", "transactions"] }, { describe, it });

  it("A message that ends while the partitions are shared again costs none of those that follow it", async () => {
    const [first, second] = [await open(), await open()];
    const name = uniqueTopic();
    const seen = new Set<unknown>();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const handler = async ({ value }: { readonly value: unknown }) => {
      seen.add(value);
      if (value === 0) await held;
    };
    await first.subscribe(name, {}, handler);
    await first.publish(name, 0, { key: "k" });
    await until(() => seen.has(0));
    const original = GroupOffsets.prototype.fetch as (...args: unknown[]) => unknown;
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    let waiting = 0;
    const asked = vi.spyOn(GroupOffsets.prototype, "fetch").mockImplementation(function (
      this: unknown,
      ...args: unknown[]
    ) {
      waiting++;
      return gate.then(() => original.apply(this, args));
    } as never);
    onTestFinished(() => asked.mockRestore());
    const joined = second.subscribe(name, {}, handler);
    await until(() => waiting >= 1);
    release();
    await first.publishBatch(
      name,
      Array.from({ length: 40 }, (_, i) => ({ value: i + 1, key: `k${i}` })),
    );
    // Time in which they would be read, if reading began before the partitions are known.
    await new Promise((resolve) => setTimeout(resolve, 700));
    go();
    await joined;
    await until(() => seen.size === 41);
  });

  it("A consumer that is closed while its group is shared again leaves the group", async () => {
    const [first, second] = [await open(), await open()];
    const [name, group] = [uniqueTopic(), uniqueTopic("leaving")];
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [address!] });
    onTestFinished(() => admin.close());
    const joined = vi.spyOn(Consumer.prototype, "joinGroup");
    onTestFinished(() => joined.mockRestore());
    const consumer = await first.subscribe(name, { group }, () => {});
    const joining = joined.mock.contexts[0] as Consumer;
    const member = joining.memberId;
    // The group has a second member then, and this one is about to join again without some of its partitions.
    const closed = new Promise<void>((resolve) =>
      joining.once("consumer:group:join" as never, (() => resolve(consumer.close())) as never),
    );
    await second.subscribe(name, { group }, () => {});
    await closed;
    const groups = await admin.describeGroups({ groups: [group] });
    expect([...groups.get(group)!.members.keys()]).not.toContain(member);
  });

  it("A message that was given back and delivered again is lost with its partition, and the new owner of the partition gets it", async () => {
    const name = uniqueTopic();
    const request = {
      topic: name,
      group: name,
      prefetch: 100,
      from: "start" as const,
      broadcast: false,
      deadLetterTopic: null,
      maxDeliveries: 20,
    };
    const consume = async (deliver: (delivery: Delivery) => void) => {
      const broker = await backend.connect();
      await broker.open();
      const lost: Delivery[] = [];
      const failed = vi.fn();
      const consumer = await broker.consume(request, { deliver, lost: (delivery) => lost.push(delivery), failed });
      onTestFinished(async () => {
        await consumer.close();
        await broker.close();
      });
      return { lost, failed };
    };
    const given = new Set<string>();
    const again = new Map<string, Delivery>();
    const first = await consume((delivery) => {
      const { id } = delivery.record;
      if (given.has(id)) again.set(id, delivery);
      else void delivery.release();
      given.add(id);
    });
    const publisher = await open();
    // Without a key they go to all partitions.
    const sent = await publisher.publishBatch(
      name,
      Array.from({ length: 30 }, (_, value) => ({ value })),
    );
    await until(() => again.size === sent.length);
    const taken: string[] = [];
    await consume(({ record }) => void taken.push(record.id));
    await until(() => first.lost.length > 0 && taken.length >= first.lost.length);
    expect(first.lost.map(({ record }) => record.id).toSorted()).toEqual(taken.toSorted());
    expect(first.lost.every((delivery) => again.get(delivery.record.id) === delivery)).toBe(true);
    expect(first.failed).not.toHaveBeenCalled();
  });

  it("Transactions of consumers that join and leave a group publish the result of each message exactly once", async () => {
    const [first, second, reader] = [await open(), await open(), await open()];
    const [input, output] = [uniqueTopic("in"), uniqueTopic("out")];
    const out: number[] = [];
    await reader.subscribe(output, { group: uniqueTopic("out") }, ({ value }) => void out.push(value as number));
    const options = { transactional: true, batch: 20, retry: { delay: 0.05, jitter: 0 } } as const;
    const handler = async (
      messages: readonly { readonly value: unknown }[],
      { tx }: { readonly tx: { publish(topic: string, value: unknown): Promise<unknown> } },
    ) => {
      // Longer than the group takes to share its partitions: they change hands while a batch of several is under way.
      await new Promise((resolve) => setTimeout(resolve, 300));
      for (const { value } of messages) await tx.publish(output, value);
    };
    await first.subscribe(input, options, handler);
    const total = 300;
    await first.publishBatch(
      input,
      Array.from({ length: total }, (_, value) => ({ value, key: `k${value % 20}` })),
    );
    const joined = await second.subscribe(input, options, handler);
    await until(() => out.length > total / 3);
    await joined.close();
    await until(() => new Set(out).size === total);
    expect(out).toHaveLength(total);
  });

  it("Consumers of different topics can be in one group", async () => {
    const client = await open();
    const [one, two] = [uniqueTopic("one"), uniqueTopic("two")];
    const seen: unknown[] = [];
    const note = (message: { readonly value: unknown }) => {
      seen.push(message.value);
    };
    await Promise.all([client.subscribe(one, {}, note), client.subscribe(two, {}, note)]);
    await Promise.all([1, 2, 3, 4, 5, 6].map((value) => client.publish(value % 2 ? one : two, value)));
    await until(() => seen.length === 6);
  });

  it.each(["gzip", "snappy", "lz4"] as const)("Batches compressed with %s arrive", async (compression) => {
    const client = await connected({ connect: () => createKafkaBroker({ ...settings, compression }) });
    const name = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(name, {}, (message) => {
      seen.push((message.value as { text: string }).text.length);
    });
    await client.publish(name, { text: "abc".repeat(1000) });
    await until(() => seen.length === 1);
    expect(seen).toEqual([3000]);
    await client.close();
  });

  it("A consumer reads batches that were compressed with zstd", async () => {
    const name = uniqueTopic();
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [address!] });
    const configs = [{ name: "compression.type", value: "zstd" }];
    await admin.createTopics({ topics: [name], partitions: 1, replicas: 1, configs });
    await admin.close();
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(name, {}, (message) => {
      seen.push((message.value as string).length);
    });
    await client.publish(name, "abc".repeat(1000));
    await until(() => seen.length === 1);
    expect(seen).toEqual([3000]);
  });

  it("An unknown topic is a clear error where topics are not created", async () => {
    const client = await connected({ connect: () => createKafkaBroker({ ...settings, createTopics: false }) });
    const name = uniqueTopic();
    const text = `does not know the topic '${name}', and 'createTopics' is false`;
    await expect(client.publish(name, 1)).rejects.toThrow(text);
    await expect(client.subscribe(name, {}, () => {})).rejects.toThrow(text);
    await client.close();
  });

  it("A message that is larger than 'maxBytes' is refused before it is sent", async () => {
    const client = await connected({ connect: () => createKafkaBroker({ ...settings, maxBytes: 1000 }) });
    onTestFinished(() => client.close());
    const name = uniqueTopic();
    await client.publish(name, "x".repeat(500));
    await expect(client.publish(name, "x".repeat(1001))).rejects.toThrow("the kafka broker takes 1000");
  });

  it("A producer asks for a number of its batches, unless 'idempotent' is false", async () => {
    const asked = vi.spyOn(Producer.prototype, "initIdempotentProducer");
    onTestFinished(() => asked.mockRestore());
    const numbersOf = async (options: LogBrokerOptions) => {
      asked.mockClear();
      const client = await connected({ connect: () => createKafkaBroker({ ...settings, ...options }) });
      await client.publish(uniqueTopic(), 1);
      await client.close();
      return asked.mock.calls.length;
    };
    expect(await numbersOf({ idempotent: false })).toBe(0);
    expect(await numbersOf({})).toBeGreaterThan(0);
  });

  it("A delay is refused, since Kafka has none", async () => {
    const client = await open();
    await expect(client.publish(uniqueTopic(), 1, { delay: 1 })).rejects.toThrow(
      "the kafka broker cannot delay messages",
    );
  });

  it("An unreachable Kafka broker is a clear error", async () => {
    const broker = await createKafkaBroker({ brokers: ["127.0.0.1:1"], connectTimeout: 0.5 });
    const failure = await broker.open().catch((error: MessagingError) => error);
    expect(failure).toMatchObject({
      code: "UNREACHABLE",
      message: expect.stringMatching(/^the Kafka broker at 127\.0\.0\.1:1 is unreachable: .*ECONNREFUSED/),
    });
    await broker.close();
  });

  it("A Kafka broker that accepts connections and is silent is asked once at the start, and is a clear error", async () => {
    const sockets = new Set<Socket>();
    let received = Buffer.alloc(0);
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("data", (data: Buffer) => {
        received = Buffer.concat([received, data]);
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const broker = await createKafkaBroker({ brokers: [`127.0.0.1:${port}`], connectTimeout: 0.2 });
    const text = expect.stringMatching(`^the Kafka broker at 127.0.0.1:${port} is unreachable: .*timed out`);
    await expect(broker.open()).rejects.toMatchObject({ code: "UNREACHABLE", message: text });
    // One request, which begins with its length: each further one would take as long again.
    expect(received.readInt32BE(0) + 4).toBe(received.length);
    expect(sockets.size).toBe(1);
    await broker.close();
  });

  it("An application publishes and handles messages over Kafka", async () => {
    const app = new App();
    app.logger = silent();
    app.enable_messaging(new LogBrokerConfig([address!], settings.groupId));
    const name = uniqueTopic();
    let handled = 0;
    app.onMessage(name, () => void handled++);
    await app.start();
    await app.publish(name, 1);
    await until(() => handled === 1);
    await app.stop();
  });
});

describe("LogBrokerConfig", () => {
  it("LogBrokerConfig accepts fields in both spellings, or brokers and group, and has defaults", () => {
    expect(new LogBrokerConfig()).toMatchObject({ brokers: ["127.0.0.1:9092"], group_id: "stoa" });
    expect(new LogBrokerConfig(["a:1", "b:2"], "shop")).toMatchObject({ address: "a:1, b:2", groupId: "shop" });
    expect(new LogBrokerConfig({ group_id: "shop" }).groupId).toBe("shop");
  });

  it("LogBrokerConfig refuses wrong options, and never shows the password", () => {
    expect(() => new LogBrokerConfig({ brokers: ["a"] })).toThrow("an address: host:port");
    expect(() => new LogBrokerConfig({ brokers: [] })).toThrow("must name a broker");
    expect(() => new LogBrokerConfig({ broker: ["a:1"] } as object)).toThrow("did you mean 'brokers'?");
    const sasl = { mechanism: "PLAIN" as const, username: "u", password: "secret" };
    expect(JSON.stringify(new LogBrokerConfig({ sasl }))).not.toContain("secret");
    expect(() => new LogBrokerConfig({ sasl: { ...sasl, password: "" } })).toThrow(
      /^option 'password' in option 'sasl' of LogBrokerConfig must be a non-empty string$/,
    );
    const bearer = { mechanism: "OAUTHBEARER" as const, token: "secret" };
    expect(JSON.stringify(new LogBrokerConfig({ sasl: bearer }))).not.toContain("secret");
    expect(() => new LogBrokerConfig({ sasl: { ...sasl, mechanism: "OAUTHBEARER" } })).toThrow("needs a token");
    expect(() => new LogBrokerConfig({ sasl: { mechanism: "PLAIN", username: "u" } })).toThrow("needs a password");
    expect(() => new LogBrokerConfig({ sasl: { ...sasl, ...bearer } })).toThrow("does not go with OAUTHBEARER");
  });
});
