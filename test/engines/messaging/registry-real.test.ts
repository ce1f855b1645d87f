import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { create, createFileRegistry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { App, LogBrokerConfig } from "stoa";
import { SchemaRegistry, topic } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { codecOf } from "../../../src/engines/messaging/codec.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { silent, uniqueTopic, until } from "./harness.js";

const url = isLong ? service("registry") : undefined;
const python = isLong ? service("confluent") : undefined;
const kafka = isLong ? service("kafka") : undefined;

const record = (...fields: object[]) => ({ type: "record", name: "Order", fields });
const id = { name: "id", type: "string" };
const total = { name: "total", type: "int", default: 0 };
const state = { name: "state", type: { type: "enum", name: "State", symbols: ["NEW", "PAID"] }, default: "NEW" };
const lines = {
  name: "lines",
  type: { type: "array", items: { type: "map", values: ["null", "double"] } },
  default: [],
};

/** The results of Confluent's client. */
async function judge(...calls: object[]): Promise<unknown[]> {
  const program = fileURLToPath(new URL("./registry-judge.py", import.meta.url));
  return new Promise((resolve, reject) => {
    const child = execFile(python!, [program, url!], (error, stdout) => {
      if (error) reject(error);
      else
        resolve(
          stdout
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line)),
        );
    });
    child.stdin!.end(calls.map((call) => `${JSON.stringify(call)}\n`).join(""));
  });
}

/** Sets the rule of the subject of a topic. */
async function setRule(name: string, compatibility: string): Promise<void> {
  const headers = { "content-type": "application/vnd.schemaregistry.v1+json" };
  const body = JSON.stringify({ compatibility });
  const { status } = await fetch(`${url}/config/${name}-value`, { method: "PUT", headers, body });
  expect(status).toBe(200);
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

describe.skipIf(!url || !python)("a real schema registry and Confluent's client", () => {
  it("Each reads what the other has written in Avro, with another version of the schema", {
    timeout: 120_000,
  }, async () => {
    const name = uniqueTopic();
    const registry = new SchemaRegistry({ url: url! });
    const older = codecOf(registry.avro(record(id, total)))!;
    const newer = codecOf(registry.avro(record(id, state, lines)))!;
    const value = { id: "o2", state: "PAID", lines: [{ a: 1.5, b: null }] };
    const [theirs, ...read] = await judge(
      { kind: "avro", topic: name, schema: record(id, state, lines, total), value: { ...value, total: 3 } },
      {
        kind: "avro",
        topic: name,
        schema: record(id, state),
        bytes: base64(await older.encode(name, { id: "o1", total: 7 })),
      },
      { kind: "avro", topic: name, schema: record(id, lines), bytes: base64(await newer.encode(name, value)) },
    );
    expect(read).toEqual([
      { id: "o1", state: "NEW" },
      { id: "o2", lines: value.lines },
    ]);
    const bytes = Buffer.from(theirs as string, "base64");
    expect(await newer.decode(name, bytes)).toEqual(value);
    expect(await older.decode(name, bytes)).toEqual({ id: "o2", total: 3 });
  });

  it("Each reads what the other has written in Protobuf, of a nested message too", { timeout: 120_000 }, async () => {
    const field = { name: "id", number: 1, type: 9, label: 1, jsonName: "id" };
    const file = create(FileDescriptorProtoSchema, {
      name: "shop.proto",
      package: "shop",
      syntax: "proto3",
      messageType: [
        { name: "First" },
        { name: "Order", field: [field], nestedType: [{ name: "Line", field: [field] }] },
      ],
    });
    const files = createFileRegistry(file, () => undefined);
    const sent = base64(toBinary(FileDescriptorProtoSchema, file));
    for (const type of ["shop.Order", "shop.Order.Line"]) {
      const name = uniqueTopic();
      const codec = codecOf(new SchemaRegistry({ url: url! }).protobuf(files.getMessage(type)!))!;
      const schema = { file: sent, name: type };
      const [theirs, read] = await judge(
        { kind: "protobuf", topic: name, schema, value: { id: "o1" } },
        { kind: "protobuf", topic: name, schema, bytes: base64(await codec.encode(name, { id: "o2" })) },
      );
      expect(read).toEqual({ id: "o2" });
      expect(await codec.decode(name, Buffer.from(theirs as string, "base64"))).toMatchObject({ id: "o1" });
    }
  });

  it("Each reads what the other has written in JSON", { timeout: 120_000 }, async () => {
    const name = uniqueTopic();
    const codec = codecOf(
      new SchemaRegistry({ url: url! }).json(z.object({ id: z.string() }).meta({ title: "Order" })),
    )!;
    const schema = { title: "Order", type: "object", properties: { id: { type: "string" } }, required: ["id"] };
    const [theirs, read] = await judge(
      { kind: "json", topic: name, schema, value: { id: "o1" } },
      { kind: "json", topic: name, schema, bytes: base64(await codec.encode(name, { id: "o2" })) },
    );
    expect(read).toEqual({ id: "o2" });
    expect(await codec.decode(name, Buffer.from(theirs as string, "base64"))).toEqual({ id: "o1" });
  });

  it("The registry judges schemas of all formats at the start and at the first publish", async () => {
    const registry = new SchemaRegistry({ url: url! });
    const proto = (type: number, text: string) => {
      const field = { name: "id", number: 1, type, label: 1, jsonName: "id" };
      const messageType = [{ name: "Order", field: [field] }];
      const file = create(FileDescriptorProtoSchema, {
        name: "a.proto",
        package: "shop",
        syntax: "proto3",
        messageType,
      });
      const source = `syntax = "proto3"; package shop; message Order { ${text} id = 1; }`;
      return registry.protobuf(createFileRegistry(file, () => undefined).getMessage("shop.Order")!, source);
    };
    const formats = [
      [registry.avro(record(id)), registry.avro(record(id, state)), registry.avro(record({ ...id, type: "int" }))],
      [proto(9, "string"), proto(9, "string"), proto(5, "int32")],
      [
        registry.json(z.object({ id: z.string() })),
        registry.json(z.object({ id: z.string().optional() })),
        registry.json(z.object({ id: z.number() })),
      ],
    ];
    for (const [first, fitting, unfitting] of formats) {
      const name = uniqueTopic();
      await codecOf(first)!.open(name);
      await registry.register(topic(name, { schema: first! }));
      await setRule(name, "BACKWARD");
      await codecOf(first)!.open(name);
      await codecOf(fitting)!.open(name);
      await expect(codecOf(unfitting)!.open(name)).rejects.toThrow(
        `the schema of the topic '${name}' is not compatible with the latest version of the subject '${name}-value'`,
      );
      const refused = new RegExp(`has refused the subject '${name}-value': .*[Ii]ncompatible`);
      await expect(registry.register(topic(name, { schema: unfitting! }))).rejects.toThrow(refused);
    }
  });

  it.skipIf(!kafka)("An application publishes and handles Avro over Kafka", { timeout: 120_000 }, async () => {
    const name = uniqueTopic();
    const registry = new SchemaRegistry({ url: url! });
    const orders = topic(name, { schema: registry.avro<{ id: string; total: number }>(record(id, total)) });
    const app = new App();
    app.logger = silent();
    app.enableMessaging(new LogBrokerConfig({ brokers: [kafka!], groupId: uniqueTopic("group"), partitions: 1 }));
    const seen: unknown[] = [];
    app.onMessage(orders, ({ value }) => void seen.push({ ...value }));
    await app.start();
    await app.publish(orders, { id: "o1", total: 3 });
    await until(() => seen.length === 1);
    expect(seen).toEqual([{ id: "o1", total: 3 }]);
    await app.stop();
  });
});
