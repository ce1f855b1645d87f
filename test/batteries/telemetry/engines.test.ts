import { randomUUID } from "node:crypto";
import { GrpcError } from "stoa/grpc";
import { describe, expect, it, vi } from "vitest";
import { Echo } from "../../apis/grpc/fixtures/echo_pb.js";
import { service } from "../../support/service.js";
import { traced } from "./traced.js";

const postgres = service("postgres");
const redis = service("redis");
const kafka = service("kafka");
const server = 2;
const client = 3;
const producer = 4;
const consumer = 5;
const statusError = 2;

describe.skipIf(!postgres)("queries of the database", () => {
  it("Queries of the database are client spans below that of the request, with their errors and without their parameters", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableDatabase(postgres!);
      app.get("/", async (request) => {
        await request.db.fetchval("select $1::text", ["secret"]);
        return request.db.transaction(async (transaction) => transaction.fetchval("select 'secret' as inside"));
      });
      app.get("/broken", (request) => request.db.fetchval("select no_such_column"));
    });
    expect((await send("/")).status).toBe(200);
    expect((await send("/broken")).status).toBe(500);
    await flush();
    const server = collector.spans.find(({ name }) => name === "GET /")!;
    const queries = collector.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
    const texts = queries.map(({ attributes }) => attributes["db.query.text"]);
    expect(texts).toEqual(expect.arrayContaining(["select $1::text", "select ? as inside"]));
    for (const query of queries) {
      expect(query).toMatchObject({ kind: client, attributes: { "db.system.name": "postgresql" } });
    }
    expect(JSON.stringify(collector.spans.map(({ attributes }) => attributes))).not.toContain("secret");
    const broken = collector.spans.find(({ attributes }) => attributes["db.query.text"] === "select no_such_column");
    expect(broken).toMatchObject({
      name: "SELECT",
      status: { code: statusError },
      attributes: { "error.type": "ProgrammingError", "db.response.status_code": "42703" },
    });
  });

  it("The span of a query is named by its operation and table, and shows database and server", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableDatabase(postgres!);
      app.get("/", (request) =>
        request.db.fetchval("select count(*)::int from pg_catalog.pg_class where relname = $1", ["x"]),
      );
    });
    expect((await send("/")).status).toBe(200);
    await flush();
    const { hostname, port, pathname } = new URL(postgres!);
    expect(collector.spans.find(({ kind }) => kind === client)).toMatchObject({
      name: "SELECT pg_catalog.pg_class",
      attributes: {
        "db.system.name": "postgresql",
        "db.namespace": pathname.slice(1),
        "db.operation.name": "SELECT",
        "db.collection.name": "pg_catalog.pg_class",
        "db.query.summary": "SELECT pg_catalog.pg_class",
        "server.address": hostname,
        "server.port": Number(port),
      },
    });
  });
});

describe.skipIf(!redis)("calls of the key-value store", () => {
  it("Calls of the key-value store are client spans below that of the request, without their values", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableKvstore({ url: redis!, prefix: `telemetry-${process.pid}:` });
      app.get("/", async (request) => {
        await request.kv.set("a", "secret");
        return request.kv.get("a");
      });
    });
    expect((await send("/")).text).toBe("secret");
    await flush();
    const server = collector.spans.find(({ name }) => name === "GET /")!;
    const calls = collector.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
    expect(calls.map(({ kind, name }) => [kind, name])).toEqual([
      [client, "SET"],
      [client, "GET"],
    ]);
    expect(JSON.stringify(collector.spans.map(({ attributes }) => attributes))).not.toContain("secret");
  });
});

describe("messages", () => {
  it("A message is published and processed in spans of one trace, with the attributes of the conventions for messages", async () => {
    const handled: unknown[] = [];
    const { app, send, flush, collector } = await traced((own) => {
      own.enableMemoryBroker();
      own.onMessage("orders", { group: "billing" }, (message) => void handled.push(message.value));
      own.get("/", () => own.publish("orders", { secret: 1 }, { id: "order-1" }));
    });
    expect((await send("/")).status).toBe(200);
    await vi.waitFor(() => expect(handled).toEqual([{ secret: 1 }]), { timeout: 30_000 });
    await vi.waitFor(() => expect(app.messaging.consumers[0]!.stats().held).toBe(0), { timeout: 30_000 });
    await flush();
    const publish = collector.spans.find(({ name }) => name === "publish orders")!;
    const process = collector.spans.find(({ name }) => name === "process orders")!;
    const common = {
      "messaging.system": "memory",
      "messaging.destination.name": "orders",
      "messaging.message.id": "order-1",
    };
    expect(publish.kind).toBe(producer);
    expect(publish.attributes).toEqual({
      ...common,
      "messaging.operation.name": "publish",
      "messaging.operation.type": "send",
    });
    expect(process).toMatchObject({ kind: consumer, traceId: publish.traceId, parentSpanId: publish.spanId });
    expect(process.attributes).toEqual({
      ...common,
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.consumer.group.name": "billing",
    });
  });

  it("The span of a batch has the number of its messages, and links to the traces of all but the first", async () => {
    const sizes: number[] = [];
    const { app, flush, collector } = await traced((own) => {
      own.enableMemoryBroker();
      own.onMessage("orders", { batch: { size: 2, wait: 10 } }, (messages) => void sizes.push(messages.length));
    });
    await app.publish("orders", 1);
    await app.publish("orders", 2);
    await vi.waitFor(() => expect(sizes).toEqual([2]), { timeout: 30_000 });
    await vi.waitFor(() => expect(app.messaging.consumers[0]!.stats().held).toBe(0), { timeout: 30_000 });
    await flush();
    const [first, second] = collector.spans.filter(({ name }) => name === "publish orders");
    const process = collector.spans.find(({ name }) => name === "process orders")!;
    expect(process.attributes).toMatchObject({ "messaging.batch.message_count": 2 });
    expect(process.parentSpanId).toBe(first!.spanId);
    expect(process.links).toMatchObject([{ traceId: second!.traceId, spanId: second!.spanId }]);
  });
});

describe.skipIf(!kafka)("messages of Kafka", () => {
  it("Both spans of a message of Kafka have its partition and its offset", async () => {
    const topic = `spans-${randomUUID()}`;
    const { app, flush, collector } = await traced((own) => {
      own.enableMessaging({ brokers: [kafka!], groupId: topic, partitions: 1 });
      own.onMessage(topic, () => {});
    });
    for (const value of [1, 2]) await app.publish(topic, value, { id: `order-${value}` });
    await vi.waitFor(() => expect(app.messaging.consumers[0]!.stats().results.done).toBe(2), { timeout: 30_000 });
    await flush();
    for (const operation of ["publish", "process"]) {
      const spans = collector.spans.filter(({ name }) => name === `${operation} ${topic}`);
      expect(spans.map(({ attributes }) => attributes)).toEqual(
        [1, 2].map((value) =>
          expect.objectContaining({
            "messaging.system": "kafka",
            "messaging.message.id": `order-${value}`,
            "messaging.destination.partition.id": "0",
            "messaging.kafka.offset": value - 1,
          }),
        ),
      );
    }
  });

  it("Messages that are published together to several partitions of Kafka have the places that consumers see", async () => {
    const topic = `spans-${randomUUID()}`;
    const { app, flush, collector } = await traced((own) => {
      own.enableMessaging({ brokers: [kafka!], groupId: topic, partitions: 3 });
      own.onMessage(topic, () => {});
    });
    const keys = Array.from({ length: 12 }, (_, i) => `key-${i % 5}`);
    await Promise.all(keys.map((key, i) => app.publish(topic, i, { id: `order-${i}`, ...(i % 4 !== 0 && { key }) })));
    // A batch has the partition that all of its messages are in, and no offset.
    await app.publishBatch(topic, [
      { value: 1, key: "one" },
      { value: 2, key: "one" },
    ]);
    const all = keys.length + 2;
    await vi.waitFor(() => expect(app.messaging.consumers[0]!.stats().results.done).toBe(all), { timeout: 30_000 });
    await flush();
    const places = (operation: string) =>
      collector.spans
        .filter(({ name, attributes }) => name === `${operation} ${topic}` && attributes["messaging.message.id"])
        .map(({ attributes }) => [
          attributes["messaging.message.id"],
          attributes["messaging.destination.partition.id"],
          attributes["messaging.kafka.offset"],
        ])
        .filter(([id]) => String(id).startsWith("order-"))
        .sort();
    expect(places("publish")).toHaveLength(keys.length);
    expect(places("publish")).toEqual(places("process"));
    expect(new Set(places("publish").map(([, partition]) => partition)).size).toBe(3);
    const batch = collector.spans.find(({ attributes }) => attributes["messaging.batch.message_count"] === 2)!;
    expect(batch.attributes["messaging.destination.partition.id"]).toMatch(/^[012]$/);
    expect(batch.attributes).not.toHaveProperty("messaging.kafka.offset");
  });
});

describe("calls of gRPC", () => {
  it("A call of gRPC is a span of the client and one of the server, with service, method and status", async () => {
    const { app, flush, collector } = await traced(
      (own) => {
        own.enableGrpc({ address: "127.0.0.1:0" });
        own.addGrpcService(
          Echo,
          {
            say: ({ text }) => ({ text }),
            look() {
              throw new GrpcError("NOT_FOUND", "nothing to see");
            },
            async *count() {
              yield { number: 1 };
              throw new GrpcError("ABORTED", "after the first message");
            },
          },
          { guards: [({ headers }) => headers.get("name") !== "guest" || "guests are refused"] },
        );
      },
      { logs: true },
    );
    const channel = app.grpcChannel(app.grpc.address!);
    const echo = channel.client(Echo);
    expect((await echo.say({ text: "secret" })).text).toBe("secret");
    await expect(echo.look({})).rejects.toThrow("nothing to see");
    await expect(all(echo.count({}))).rejects.toThrow("after the first message");
    await expect(echo.collect([], { metadata: { name: "guest" } })).rejects.toThrow("guests are refused");
    await channel.close();
    await vi.waitFor(
      async () => {
        await flush();
        expect(collector.spans).toHaveLength(8);
      },
      { timeout: 30_000 },
    );
    for (const [method, status] of [
      ["Say", 0],
      ["Look", 5],
      ["Count", 10],
      ["Collect", 7],
    ] as const) {
      const spans = collector.spans.filter(({ name }) => name === `${Echo.typeName}/${method}`);
      const caller = spans.find(({ kind }) => kind === client)!;
      const called = spans.find(({ kind }) => kind === server)!;
      expect(called).toMatchObject({ traceId: caller.traceId, parentSpanId: caller.spanId });
      for (const { attributes } of [caller, called]) {
        expect(attributes).toMatchObject({
          "rpc.system": "grpc",
          "rpc.service": Echo.typeName,
          "rpc.method": method,
          "rpc.grpc.status_code": status,
          "server.address": "127.0.0.1",
        });
      }
    }
  });
});

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const message of messages) list.push(message);
  return list;
}
