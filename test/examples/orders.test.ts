import { startFauxqs } from "fauxqs";
import { GrpcChannel } from "stoa/grpc";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import ordersFromEnvironment, { ordersApp } from "../../examples/orders/app.js";
import { type BrokerChoice, brokerOf } from "../../examples/orders/broker.js";
import { ordersProto } from "../../examples/orders/orders-proto.js";
import { engines } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";

const patient = { timeout: 60_000, interval: 50 };
const kafka = service("kafka");
const rabbitmq = service("rabbitmq");

interface Place {
  readonly name: string;
  readonly engine: ReturnType<typeof engines>[number];
  /** Finds or starts the broker. */
  broker(): Promise<BrokerChoice & { readonly end?: () => Promise<unknown> }>;
}

const all = engines(service("postgres"));
const quickest = all.at(-1)!;

/** The memory broker on each database; the other brokers on the last one, the real ones where they are. */
const places: Place[] = [
  ...all.map((engine) => ({
    name: `${engine.name} and the memory broker`,
    engine,
    broker: async () => ({ broker: "memory" as const }),
  })),
  {
    name: "SQS",
    engine: quickest,
    async broker() {
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" });
      const emulator = await startFauxqs({ port: 0, logger: false });
      return { broker: "sqs", url: emulator.address, end: () => emulator.stop() };
    },
  },
  ...(kafka
    ? [{ name: "Kafka", engine: quickest, broker: async () => ({ broker: "kafka" as const, url: kafka }) }]
    : []),
  ...(rabbitmq
    ? [{ name: "RabbitMQ", engine: quickest, broker: async () => ({ broker: "amqp" as const, url: rabbitmq }) }]
    : []),
];

describe.each(places)("the shop with orders on $name", { timeout: 120_000 }, ({ name, engine, broker }) => {
  /** What does not depend on the broker is tested with one. */
  const once = it.runIf(name.includes("memory"));
  let server: TestServer;
  let drop: () => Promise<void>;
  let end: (() => Promise<unknown>) | undefined;
  const suffix = Math.random().toString(36).slice(2, 8);
  beforeAll(async () => {
    const place = await engine.make();
    drop = place.drop;
    const { end: stop, ...choice } = await broker();
    end = stop;
    const app = ordersApp({ database: place.url, pages: true, ...choice });
    app.logger = quiet;
    server = await serve(app, { debug: true });
  });
  afterAll(async () => {
    await server?.close();
    await end?.();
    await drop?.();
  });

  const get = async <T>(path: string): Promise<T> => (await (await fetch(`${server.url}${path}`)).json()) as T;
  const place = (order: object) =>
    fetch(`${server.url}/orders`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ customer: "Ann", email: "ann@example.org", quantity: 1, ...order }),
    });

  it("An order is stored, paid, confirmed, shipped once and announced by mail", async () => {
    const id = `o1-${suffix}`;
    const placed = await place({ id, sku: "cup", quantity: 2 });
    expect(placed.status).toBe(200);
    expect(await placed.json()).toEqual({ id, saga: `checkout-${id}` });
    // Read your own writes: the projection has the order when the response arrives.
    expect(await get(`/orders/${id}`)).toMatchObject({ customer: "Ann", sku: "cup", total: 24 });
    expect(await get(`/orders/${id}/outcome`)).toEqual({ status: "completed", error: null });
    await vi.waitFor(async () => expect(await get(`/orders/${id}`)).toMatchObject({ status: "confirmed" }), patient);
    await vi.waitFor(async () => {
      expect(await get("/shipments")).toEqual([{ order_id: id, sku: "cup", quantity: 2 }]);
      expect(await get("/mails")).toEqual([{ recipient: "ann@example.org", subject: `Order ${id} is on its way` }]);
    }, patient);
    expect(await get("/stock")).toContainEqual({ sku: "cup", available: 1 });
    // The same command again changes nothing.
    expect((await place({ id, sku: "cup", quantity: 2 })).status).toBe(200);
    expect(await get("/stock")).toContainEqual({ sku: "cup", available: 1 });
  });

  it("An order that cannot be paid gives back its goods and is refused by mail", async () => {
    const id = `o2-${suffix}`;
    await place({ id, customer: "Broke Bob", email: "bob@example.org", sku: "tea", quantity: 3 });
    expect(await get(`/orders/${id}/outcome`)).toMatchObject({ status: "compensated" });
    await vi.waitFor(async () => expect(await get(`/orders/${id}`)).toMatchObject({ status: "refused" }), patient);
    expect(await get("/stock")).toContainEqual({ sku: "tea", available: 100 });
    await vi.waitFor(async () => {
      const mails = await get<{ recipient: string; subject: string }[]>("/mails");
      expect(mails.filter(({ recipient }) => recipient === "bob@example.org")).toHaveLength(1);
    }, patient);
  });

  once("An order as a gift takes a box, which goes back if the order cannot be paid", async () => {
    const boxes = async () =>
      (await get<{ sku: string; available: number }[]>("/stock")).find(({ sku }) => sku === "box");
    const id = `g1-${suffix}`;
    await place({ id, sku: "tea", gift: true });
    const ends = (order: string, status: string) =>
      vi.waitFor(async () => expect(await get(`/orders/${order}/outcome`)).toMatchObject({ status }), patient);
    await ends(id, "completed");
    expect(await boxes()).toEqual({ sku: "box", available: 49 });
    const { items } = await get<{ items: { id: string; status: string }[] }>("/_sagas/list");
    expect(items).toContainEqual(expect.objectContaining({ id: `checkout-${id}/extras/gift`, status: "completed" }));
    const unpaid = `g2-${suffix}`;
    await place({ id: unpaid, customer: "Broke Bea", email: "bea@example.org", sku: "tea", gift: true });
    await ends(unpaid, "compensated");
    expect(await boxes()).toEqual({ sku: "box", available: 49 });
  });

  it("An order of goods that are sold out is refused, one of unknown goods is not accepted, and wrong input gets 422", async () => {
    const id = `o3-${suffix}`;
    await place({ id, sku: "cup", quantity: 50 });
    expect(await get(`/orders/${id}/outcome`)).toMatchObject({ status: "compensated" });
    expect((await place({ id: "o4", sku: "gold" })).status).toBe(404);
    expect((await place({ id: "o5", sku: "tea", quantity: 0 })).status).toBe(422);
    expect((await place({ id: "a\0b", sku: "tea" })).status).toBe(422);
    for (const text of ["a\0b", "a\ud800"]) {
      expect((await place({ id: "o6", sku: text })).status).toBe(422);
      expect((await place({ id: "o6", sku: "tea", customer: text })).status).toBe(422);
    }
    expect((await place({ id, sku: "tea", quantity: 1 })).status).toBe(409);
    for (const path of ["/orders/nobody", "/orders/nobody/outcome"]) {
      expect((await fetch(`${server.url}${path}`)).status, path).toBe(404);
    }
  });

  once("The AsyncAPI document has the topics of the shop, with the schema of their values", async () => {
    const { channels } = await get<{ channels: Record<string, object> }>("/asyncapi.json");
    expect(Object.keys(channels)).toEqual(["orders.confirmed", "orders.refused"]);
    expect(JSON.stringify(channels["orders.refused"])).toContain('"reason"');
  });

  it("The pages of the live view, events, sagas and jobs are served", async () => {
    for (const page of ["/_stoa", "/_stoa/event-store", "/_sagas", "/_jobs", "/docs", "/asyncapi"]) {
      const response = await fetch(`${server.url}${page}`);
      expect([response.status, response.headers.get("content-type")], page).toEqual([
        200,
        expect.stringContaining("html"),
      ]);
    }
    const { items } = await get<{ items: { name: string }[] }>("/_sagas/list");
    expect(items.map(({ name }) => name)).toContain("checkout");
    expect((await get<{ items: { name: string }[] }>("/_jobs/list")).items[0]).toMatchObject({ name: "mail" });
  });
});

describe("the environment", () => {
  it("In production the example starts without the pages of sagas and jobs; one variable serves gRPC", async () => {
    vi.stubEnv("NODE_ENV", "production");
    vi.stubEnv("STOA_ENV", undefined);
    vi.stubEnv("GRPC_ADDRESS", "127.0.0.1:0");
    const app = ordersFromEnvironment();
    app.logger = quiet;
    const server = await app.run({ port: 0, exit: false });
    const channel = new GrpcChannel(`http://${app.grpc.address}`);
    try {
      expect((await fetch(`${server.url}/_sagas`)).status).toBe(404);
      expect((await fetch(`${server.url}/orders/none`)).status).toBe(404);
      const shop = channel.client("shop.v1.Orders", { proto: ordersProto });
      const order = { id: "g1", customer: "Ann", email: "ann@example.org", sku: "tea", quantity: 2 };
      expect(await shop.unary("Place", order)).toMatchObject({ id: "g1", saga: "checkout-g1" });
      expect(await shop.unary("Get", { id: "g1" })).toMatchObject({ id: "g1" });
      await expect(shop.unary("Get", { id: "none" })).rejects.toMatchObject({ statusName: "NOT_FOUND" });
      await expect(shop.unary("Place", { ...order, quantity: 0 })).rejects.toMatchObject({
        statusName: "INVALID_ARGUMENT",
      });
    } finally {
      vi.unstubAllEnvs();
      await channel.close();
      await server.close();
    }
  });
});

describe("the choice of a broker", () => {
  it("One variable chooses the broker, and another value is refused", () => {
    expect(brokerOf({})).toEqual({ broker: "memory", url: undefined });
    expect(brokerOf({ BROKER: "amqp", BROKER_URL: "amqp://x" })).toEqual({ broker: "amqp", url: "amqp://x" });
    expect(() => brokerOf({ BROKER: "nats" })).toThrow("BROKER is memory, kafka, amqp or sqs, not 'nats'");
  });
});
