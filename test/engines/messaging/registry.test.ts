import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create, createFileRegistry, type DescMessage } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import avsc from "avsc";
import { App, ValueError } from "stoa";
import {
  MemoryBroker,
  MemoryHub,
  type Message,
  SchemaRegistry,
  type SchemaRegistryAuth,
  type SchemaRegistryOptions,
  topic,
} from "stoa/messaging";
import { testMessages } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { codecOf } from "../../../src/engines/messaging/codec.js";
import { clients, silent, until } from "./harness.js";

interface Order {
  id: string;
  total: number;
}

const field = (name: string, type: unknown, more: object = {}) => ({ name, type, ...more });
const record = (...fields: object[]) => ({ type: "record", name: "Order", fields });
const Order = record(field("id", "string"), field("total", "int"));

const hub = new MemoryHub();
const open = clients({ connect: () => new MemoryBroker({ hub }) });
const servers: Server[] = [];

afterEach(async () => {
  hub.clear();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A registry that gives these responses, in place of a real one that is in trouble. */
async function troubled(respond: (path: string, method: string) => [number, unknown] | null): Promise<string> {
  const server = createServer((request, response) => {
    const answer = respond(request.url!, request.method!);
    if (answer === null) return;
    response.writeHead(answer[0], { "content-type": "application/json" });
    response.end(typeof answer[1] === "string" ? answer[1] : JSON.stringify(answer[1]));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const framed = (id: number, ...bytes: number[]) => Buffer.from([0, 0, 0, id >> 8, id & 255, ...bytes]);

/** A message file with a nested message and one that refers to another file. */
function shopMessages(): { order: DescMessage; line: DescMessage } {
  const text = (name: string, number: number) => ({ name, number, type: 9, label: 1, jsonName: name });
  const money = create(FileDescriptorProtoSchema, {
    name: "money.proto",
    package: "shop",
    syntax: "proto3",
    messageType: [{ name: "Money", field: [text("amount", 1)] }],
  });
  const shop = create(FileDescriptorProtoSchema, {
    name: "shop.proto",
    package: "shop",
    syntax: "proto3",
    dependency: ["money.proto"],
    messageType: [
      {
        name: "Order",
        field: [text("id", 1), { ...text("count", 2), type: 5 }],
        nestedType: [{ name: "A" }, { name: "Line", field: [text("sku", 1)] }],
      },
    ],
  });
  const files = createFileRegistry(shop, (name) => (name === "money.proto" ? money : undefined));
  return { order: files.getMessage("shop.Order")!, line: files.getMessage("shop.Order.Line")! };
}

describe("a schema registry", () => {
  it("Values are Avro behind the id of their schema, and come back as they were", async () => {
    const registry = new SchemaRegistry("memory:");
    const orders = topic("orders", { schema: registry.avro<Order>(Order), key: ({ id }) => id });
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(orders, {}, (message) => void seen.push(message.value.total, message.key, message.bytes));
    await client.publish(orders, { id: "o1", total: 7 });
    await until(() => seen.length === 3);
    expect(seen).toEqual([7, "o1", framed(1, 4, 0x6f, 0x31, 14)]);
    expect(hub.records("orders")[0]!.headers["content-type"]).toBe("application/octet-stream");
  });

  it("A value that does not fit the Avro schema is refused before it is sent, with its place and without its content", async () => {
    const registry = new SchemaRegistry({ url: "memory:" });
    const schema = registry.avro<Order>(Order);
    const client = await open();
    const publishing = client.publish(topic("orders", { schema }), { id: "secret", total: "secret" as never });
    await expect(publishing).rejects.toMatchObject({
      code: "INVALID",
      issues: [{ loc: ["value", "total"], msg: "Expected int" }],
    });
    await expect(publishing).rejects.not.toThrow(/secret/);
    expect(await schema["~standard"].validate({ id: "a" })).toMatchObject({ issues: [{ path: ["total"] }] });
    expect(hub.records("orders")).toEqual([]);
  });

  it("A reader gets the values of older and newer writers in its own form", async () => {
    const registry = new SchemaRegistry({ url: "memory:" });
    const older = registry.avro({ ...Order, fields: [field("id", "string"), field("total", "int")] });
    const newer = registry.avro(
      record(field("note", { type: "array", items: "string" }), field("id", "string"), field("total", "int")),
    );
    const reader = registry.avro<{ id: string; total: number; state: string }>(
      record(field("id", "string"), field("total", "long"), field("state", "string", { default: "new" })),
    );
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(
      topic("orders", { schema: reader }),
      { concurrency: 1 },
      ({ value }) => void seen.push({ ...value }),
    );
    await client.publish(topic("orders", { schema: older }), { id: "o1", total: 1 });
    await client.publish(topic("orders", { schema: newer }), { note: ["x"], id: "o2", total: 2 });
    await until(() => seen.length === 2);
    expect(seen).toEqual([
      { id: "o1", total: 1, state: "new" },
      { id: "o2", total: 2, state: "new" },
    ]);
  });

  it("A tombstone is null, whatever the schema", async () => {
    const registry = new SchemaRegistry({ url: "memory:" });
    const orders = topic("orders", { schema: registry.avro<Order | null>(Order) });
    const client = await open();
    const seen: Message[] = [];
    await client.subscribe(orders, {}, (message) => void seen.push(message));
    await client.publish(orders, null, { key: "o1", tombstone: true });
    await until(() => seen.length === 1);
    expect([seen[0]!.value, seen[0]!.isTombstone]).toEqual([null, true]);
  });

  it("Values are Protobuf behind the place of their message in its file", async () => {
    const { order, line } = shopMessages();
    const registry = new SchemaRegistry({ url: "memory:" });
    const orders = topic("orders", { schema: registry.protobuf(order) });
    const lines = topic("lines", { schema: registry.protobuf(line) });
    const client = await open();
    const seen: unknown[] = [];
    for (const each of [orders, lines]) {
      await client.subscribe(each, {}, ({ value, bytes }) => void seen.push({ ...value }, bytes.subarray(5)));
    }
    await client.publish(orders, { id: "o1" });
    await until(() => seen.length === 2);
    await client.publish(lines, { sku: "s" });
    await until(() => seen.length === 4);
    expect(seen).toMatchObject([
      { id: "o1", $typeName: "shop.Order" },
      Buffer.from([0, 10, 2, 0x6f, 0x31]),
      { sku: "s", $typeName: "shop.Order.Line" },
      // The second message in the first one: two indexes, 0 and 1, in zigzag.
      Buffer.from([4, 0, 2, 10, 1, 0x73]),
    ]);
    await expect(client.publish(orders, { count: "many" as never })).rejects.toMatchObject({ code: "INVALID" });
  });

  it("Values are JSON with the schema of a library, which both sides apply", async () => {
    const Price = z.object({ amount: z.number(), currency: z.string().default("EUR") });
    const registry = new SchemaRegistry({ url: "memory:" });
    const prices = topic("prices", { schema: registry.json(Price) });
    const client = await open();
    const seen: unknown[] = [];
    await client.subscribe(
      prices,
      {},
      ({ value, bytes }) => void seen.push(value.currency, Buffer.from(bytes).toString("latin1")),
    );
    await client.publish(prices, { amount: 2 });
    await until(() => seen.length === 2);
    expect(seen).toEqual(["EUR", '\0\0\0\0\x01{"amount":2}']);
    await expect(client.publish(prices, {} as never)).rejects.toMatchObject({ issues: [{ loc: ["value", "amount"] }] });
  });

  it("Options and schemas that cannot be right are refused", async () => {
    expect(() => new SchemaRegistry({ url: "http://a:b@registry" })).toThrow(ValueError);
    expect(() => new SchemaRegistry({ url: "http://registry", auth: { username: "a", token: "b" } })).toThrow(
      /or a token/,
    );
    const registry = new SchemaRegistry({ url: "memory:" });
    expect(() => registry.avro(5 as never)).toThrow("an Avro schema, not 5");
    expect(() => registry.protobuf({} as never)).toThrow("the descriptor of a message");
    expect(() => topic("a", { reply: registry.avro("string") } as never)).toThrow("replies have no codec");
    const client = await open();
    const wrong = topic("a", { schema: registry.avro({ type: "record" }) });
    await expect(client.publish(wrong, {})).rejects.toThrow("the Avro schema is wrong");
    await expect(
      client.publish(
        topic("b", {
          schema: registry.json({ "~standard": { version: 1, vendor: "x", validate: () => ({ value: 1 }) } }),
        }),
        1 as never,
      ),
    ).rejects.toThrow("has no JSON Schema");
    await expect(registry.register(topic("plain"))).rejects.toThrow("no schema of a registry");
  });

  it("A test sees the values that were published, and delivers one to a handler", async () => {
    const registry = new SchemaRegistry({ url: "memory:" });
    const orders = topic("orders", { schema: registry.avro<Order>(Order) });
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker();
    app.onMessage(orders, ({ value }) => {
      if (value.total < 0) throw new Error("negative");
    });
    const messages = testMessages(app);
    await messages.publish(orders, { id: "o1", total: 1 });
    expect(messages.published(orders)).toMatchObject([{ value: { id: "o1", total: 1 } }]);
    expect(await messages.deliver(orders, { id: "o1", total: -1 })).toMatchObject({ result: "retry" });
    await app.stop();
  });
});

describe("a schema registry in trouble", () => {
  const avro = JSON.stringify(Order);

  it("A schema that is not compatible stops the start, with the subject and the reasons", async () => {
    const url = await troubled((path) =>
      path.startsWith("/compatibility")
        ? [200, { is_compatible: false, messages: ["READER_FIELD_MISSING_DEFAULT_VALUE: total"] }]
        : [404, { error_code: 40403, message: "Schema not found" }],
    );
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker();
    app.onMessage(topic("orders", { schema: new SchemaRegistry({ url }).avro<Order>(Order) }), () => {});
    await expect(app.start()).rejects.toThrow(
      "the schema of the topic 'orders' is not compatible with the latest version of the subject 'orders-value': READER_FIELD_MISSING_DEFAULT_VALUE: total",
    );
  });

  it("A wrong path, a wrong login and a registry that is away stop the start with the reason", async () => {
    const client = await open();
    const subscribe = (url: string, timeout = 60) =>
      client.subscribe(topic("orders", { schema: new SchemaRegistry({ url, timeout }).avro(Order) }), {}, () => {});
    await expect(subscribe(await troubled(() => [404, "<html>"]))).rejects.toThrow("status 404");
    const denied = await troubled(() => [401, { error_code: 401, message: "Unauthorized" }]);
    await expect(subscribe(denied)).rejects.toThrow("has refused the subject 'orders-value': Unauthorized");
    await expect(subscribe("http://127.0.0.1:1")).rejects.toThrow("at 127.0.0.1:1 does not respond");
    await expect(subscribe(await troubled(() => null), 0.2)).rejects.toThrow("did not come within 0.2 seconds");
  });

  it("The login is in every request", async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{"id":3}');
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const logins: SchemaRegistryAuth[] = [{ username: "a", password: "b" }, { token: async () => "t1" }];
    for (const auth of logins) {
      const options: SchemaRegistryOptions = { url, auth };
      const registry = new SchemaRegistry(options);
      await registry.register(topic("orders", { schema: registry.avro(Order) }));
      expect(String(registry)).not.toContain("t1");
    }
    expect(seen).toEqual([`Basic ${Buffer.from("a:b").toString("base64")}`, "Bearer t1"]);
  });

  it("A publish fails while the registry is away, and the next one asks it again", async () => {
    let isAway = true;
    const url = await troubled(() => (isAway ? [503, "down"] : [200, { id: 9 }]));
    const registry = new SchemaRegistry({ url });
    const orders = topic("orders", { schema: registry.avro<Order>(Order) });
    const client = await open();
    await expect(client.publish(orders, { id: "a", total: 1 })).rejects.toMatchObject({ code: "UNREACHABLE" });
    isAway = false;
    await client.publish(orders, { id: "a", total: 1 });
    expect(hub.records("orders").map(({ body }) => body[4])).toEqual([9]);
  });

  it("A message waits for its next attempt while the registry is away, and is handled when it is back", async () => {
    let failures = 0;
    const url = await troubled((path) => {
      if (!path.startsWith("/schemas")) return [404, { error_code: 40401 }];
      return ++failures <= 2 ? [503, "down"] : [200, { schema: avro }];
    });
    const registry = new SchemaRegistry({ url });
    const client = await open();
    const seen: Order[] = [];
    const orders = topic("orders", { schema: registry.avro<Order>(Order) });
    await client.subscribe(orders, { retry: { attempts: 5, delay: 0.01 } }, ({ value }) => void seen.push(value));
    await client.publish("orders", framed(7, 4, 0x6f, 0x31, 14));
    await until(() => seen.length === 1);
    expect([{ ...seen[0]! }, failures]).toEqual([{ id: "o1", total: 7 }, 3]);
    // The schema is asked for once.
    await client.publish("orders", framed(7, 4, 0x6f, 0x32, 14));
    await until(() => seen.length === 2);
    expect(failures).toBe(3);
  });

  it("Without the right to register, a schema that is not there is refused", async () => {
    const paths: string[] = [];
    const url = await troubled((path) => {
      paths.push(path);
      return [404, { error_code: 40403 }];
    });
    const registry = new SchemaRegistry({ url, autoRegister: false, subject: (name, type) => `${name}.${type}` });
    const orders = topic("orders", { schema: registry.avro(Order) });
    await expect(registry.register(orders)).rejects.toThrow("is not registered in the subject 'orders.Order'");
    expect(paths).toEqual(["/subjects/orders.Order"]);
  });

  it("A schema that refers to others is put together from the registry, which cannot send it in circles", async () => {
    const line = { type: "record", name: "Line", fields: [field("sku", "string")] };
    const references = [{ name: "Line", subject: "line", version: 2 }];
    const written = { schema: JSON.stringify(record(field("line", "Line"))), references };
    let asked = 0;
    const url = await troubled((path) => {
      if (path === "/schemas/ids/1") return [200, written];
      if (path === "/subjects/line/versions/2") return [200, { schema: JSON.stringify(line) }];
      return [200, { schema: '"string"', references: [{ name: "x", subject: `other-${++asked}`, version: 1 }] }];
    });
    const reader = new SchemaRegistry({ url }).avro(record(field("line", line)));
    const codec = codecOf(reader)!;
    expect(await codec.decode("orders", framed(1, 2, 0x73))).toMatchObject({ line: { sku: "s" } });
    const failing = Promise.resolve(codec.decode("orders", framed(2, 2, 0x73)));
    await expect(failing).rejects.toThrow("refers to over 100 others");
    expect(asked).toBe(101);
  });

  it("Hostile bytes are dead letters at once, and take no time", async () => {
    const numbers = { type: "array", items: "long" };
    const nothings = { type: "array", items: "null" };
    const writer = record(
      field("skipped", numbers),
      field("nulls", nothings),
      field("map", { type: "map", values: numbers }),
    );
    const url = await troubled((path) =>
      path.startsWith("/schemas") ? [200, { schema: JSON.stringify(writer) }] : [404, { error_code: 40401 }],
    );
    const reader = record(field("nulls", nothings), field("map", { type: "map", values: numbers }));
    const huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0x1f];
    const values = {
      empty: Buffer.alloc(0),
      json: Buffer.from('{"id":1}'),
      short: framed(1).subarray(0, 4),
      cut: framed(1),
      "items of an array that is skipped": framed(1, ...huge),
      "a block that leads back to itself": framed(1, 1, 3, 0, 0, 0),
      "items of no size": framed(1, 0, ...huge, 0, 0),
      "entries of a map": framed(1, 0, 0, ...huge),
      "bytes behind it": framed(1, 0, 0, 0, 9),
    };
    const codec = codecOf(new SchemaRegistry({ url }).avro(reader))!;
    expect(await codec.decode("orders", framed(1, 0, 4, 0, 2, 2, 0x61, 2, 2, 0, 0))).toEqual({
      nulls: [null, null],
      map: { a: [1] },
    });
    for (const [name, bytes] of Object.entries(values)) {
      const decoding = (async () => codec.decode("orders", bytes))();
      await expect(decoding, name).rejects.toMatchObject({ name: "UndecodableError" });
    }
    const { order } = shopMessages();
    const messages = codecOf(new SchemaRegistry({ url }).protobuf(order))!;
    for (const bytes of [
      framed(1),
      framed(1, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
      framed(1, 1),
      framed(1, ...huge),
      framed(1, 0, 10, 99),
    ]) {
      await expect((async () => messages.decode("orders", bytes))()).rejects.toMatchObject({
        name: "UndecodableError",
      });
    }
  });

  it("A message with a schema that cannot be read is a dead letter, and the registry is not asked for each", async () => {
    let asked = 0;
    const url = await troubled((path) => {
      if (!path.startsWith("/schemas")) return [404, { error_code: 40401 }];
      asked++;
      return path.endsWith("/1") ? [200, { schema: '"boolean"' }] : [404, { error_code: 40403, message: "no schema" }];
    });
    const registry = new SchemaRegistry({ url });
    const client = await open();
    const orders = topic("orders", { schema: registry.avro<Order>(Order) });
    await client.subscribe(orders, { retry: { attempts: 2, delay: 0.01 } }, () => {});
    for (const id of [1, 1, 2]) await client.publish("orders", framed(id, 1));
    let letters: { reason: string; error: string }[] = [];
    await until(async () => (letters = await client.deadLetters.list("orders")).length === 3);
    expect(letters.map(({ reason }) => reason).sort()).toEqual(["failed", "invalid", "invalid"]);
    expect(letters.find(({ reason }) => reason === "failed")!.error).toContain("has refused the schema 2: no schema");
    expect(asked).toBe(3);
  });

  it("Keys of a map are never taken for its prototype", async () => {
    const type = avsc.Type.forSchema({ type: "map", values: { type: "map", values: "int" } });
    const bytes = type.toBuffer(JSON.parse('{"__proto__":{"polluted":1}}'));
    const registry = new SchemaRegistry({ url: "memory:" });
    const schema = registry.avro({ type: "map", values: { type: "map", values: "int" } });
    await registry.register(topic("maps", { schema }));
    const value = (await codecOf(schema)!.decode("maps", framed(1, ...bytes))) as object;
    expect([Object.hasOwn(value, "__proto__"), "polluted" in value]).toEqual([true, false]);
  });
});
