import { ApiKeyAuth, App, ValueError } from "stoa";
import { topic } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { hostOf } from "../../../src/app/app.js";
import { silent } from "./harness.js";

const Line = z.object({ sku: z.string(), count: z.int().min(1) }).meta({ id: "Line" });
const Order = z
  .object({ id: z.string(), placed: z.date().optional(), lines: z.array(Line) })
  .meta({ id: "Order", description: "An order" });
const orders = topic("orders", { schema: Order, key: ({ id }) => id, description: "Orders of the shop" });
const prices = topic("prices.asked", { schema: z.object({ sku: z.string() }), reply: z.object({ price: z.number() }) });

function shop(): App {
  const app = new App();
  app.logger = silent();
  app.enableMemoryBroker();
  app.onMessage(orders, { group: "shipping", description: "Sends the parcel" }, async function ship() {});
  app.onMessage(orders, { summary: "Counts", broadcast: true }, () => {});
  app.onMessage("orders", { schema: z.object({ id: z.string() }), deadLetter: false }, () => {});
  app.onMessage("internal", { hidden: true }, () => {});
  app.onMessage(prices, () => ({ price: 1 }));
  return app;
}

describe("the AsyncAPI document", () => {
  it("A handler of topics by a pattern has a channel without an address", async () => {
    const app = new App();
    app.enableMemoryBroker();
    app.onMessage(/^orders\.(eu|us)$/, function ship() {});
    app.onMessage(/.*/, { deadLetter: "failed" }, function count() {});
    const document = await app.enableAsyncapi().asyncapi();
    expect(document.channels).toMatchObject({
      orderseuus: { address: null, "x-topic-pattern": "^orders\\.(eu|us)$" },
      topics: { address: null, "x-topic-pattern": ".*" },
    });
    expect(document.operations).toEqual({
      receiveOrderseuus: expect.not.objectContaining({ "x-dead-letter": expect.anything() }),
      receiveTopics: expect.objectContaining({ summary: "count", "x-dead-letter": "failed" }),
    });
  });

  it("The document has a channel for each topic, with the messages, handlers and replies", async () => {
    const document = await shop()
      .enableAsyncapi({ title: "Shop", version: "2.0.0", publishes: [orders, "audit"] })
      .asyncapi();
    expect(document.asyncapi).toBe("3.0.0");
    expect(document.info).toEqual({ title: "Shop", version: "2.0.0" });
    expect(document.channels).toEqual({
      orders: {
        address: "orders",
        description: "Orders of the shop",
        messages: {
          Order: { name: "Order", contentType: "application/json", payload: { $ref: "#/components/schemas/Order" } },
          Orders: expect.objectContaining({ payload: expect.objectContaining({ required: ["id"] }) }),
        },
      },
      "prices.asked": { address: "prices.asked", messages: { PricesAsked: expect.anything() } },
      "prices.asked.reply": { address: null, messages: { PricesAskedReply: expect.anything() } },
      audit: { address: "audit", messages: { Audit: { name: "Audit", contentType: "application/json", payload: {} } } },
    });
    const channel = { $ref: "#/channels/orders" };
    const messages = [{ $ref: "#/channels/orders/messages/Order" }];
    expect(document.operations).toEqual({
      receiveOrders: {
        action: "receive",
        channel,
        messages,
        summary: "ship",
        description: "Sends the parcel",
        "x-group": "shipping",
        "x-dead-letter": "orders.dead",
      },
      receiveOrders_2: { action: "receive", channel, messages, summary: "Counts", "x-broadcast": true },
      receiveOrders_3: { action: "receive", channel, messages: [{ $ref: "#/channels/orders/messages/Orders" }] },
      receivePricesAsked: expect.objectContaining({
        reply: {
          address: { location: "$message.header#/stoa-reply-to" },
          channel: { $ref: "#/channels/prices.asked.reply" },
          messages: [{ $ref: "#/channels/prices.asked.reply/messages/PricesAskedReply" }],
        },
      }),
      sendOrders: { action: "send", channel, messages },
      sendAudit: expect.objectContaining({ action: "send" }),
    });
    expect(Object.keys(document.components!.schemas!)).toEqual(["Line", "Order"]);
  });

  it("A schema that was given a name is shared under it", async () => {
    const Price = z.object({ price: z.number() });
    const app = new App();
    app.logger = silent();
    app.enableMemoryBroker();
    app.onMessage("offers", { schema: Price }, () => {});
    const document = await app.enableAsyncapi({ schemas: { Price } }).asyncapi();
    expect(Object.keys(document.components!.schemas!)).toEqual(["Price"]);
  });

  it("Topics of one name on two brokers are two channels, with the servers that were given", async () => {
    const app = shop().enableMessaging();
    app.onMessage("orders", { broker: "kafka" }, () => {});
    app.onMessage("orders", { broker: "memory" }, () => {});
    const host = "kafka.example:9092";
    const document = await app.enableAsyncapi({ servers: { kafka: { host, protocol: "kafka-secure" } } }).asyncapi();
    expect(document["servers"]).toEqual({ kafka: { host, protocol: "kafka-secure" } });
    expect(document.channels["orders_2"]).toMatchObject({
      address: "orders",
      servers: [{ $ref: "#/servers/kafka" }],
      "x-broker": "kafka",
    });
    expect(document.channels["orders_3"]).toMatchObject({ address: "orders", "x-broker": "memory" });
  });

  it("enableAsyncapi() refuses what it cannot document", () => {
    const app = shop();
    expect(() => app.enableAsyncapi({ publishes: ["a topic"] })).toThrow(ValueError);
    expect(() => app.enableAsyncapi({ publishes: ["a topic"] })).toThrow("a list of topics, or of their names");
    expect(() => app.enableAsyncapi({ servers: { kafka: {} as never } })).toThrow("{ host, protocol, description }");
    expect(() => app.enableAsyncapi({ docsPath: "/asyncapi.json" })).toThrow('the path "/asyncapi.json" twice');
    expect(() => topic("orders", { description: 1 as never })).toThrow("option 'description'");
  });

  it("The document can be changed before it is served", async () => {
    const app = shop().enableAsyncapi({ transform: (document) => void (document.info["x-team"] = "sales") });
    expect(await (await app.request("/asyncapi.json")).json()).toMatchObject({ info: { "x-team": "sales" } });
    await app.stop();
  });
});

describe("the AsyncAPI document over HTTP", () => {
  it("The document and its page are served where they are enabled, behind the authentication of the application", async () => {
    const plain = shop();
    expect((await plain.request("/asyncapi.json")).status).toBe(404);
    await plain.stop();
    const app = shop().use(new ApiKeyAuth({ keys: { k1: "ann" } }));
    app.enableAsyncapi({ asyncapiPath: "/spec/messages.json", docsPath: "/messages" });
    for (const path of ["/spec/messages.json", "/messages"]) expect((await app.request(path)).status).toBe(401);
    const headers = { "X-API-Key": "k1" };
    const document = await app.request("/spec/messages.json", { headers });
    expect([document.status, document.headers.get("content-type")]).toEqual([200, "application/json"]);
    const etag = document.headers.get("etag")!;
    const again = await app.request("/spec/messages.json", { headers: { ...headers, "If-None-Match": etag } });
    expect(again.status).toBe(304);
    expect(await (await app.request("/messages", { headers })).text()).toContain('href="spec/messages.json"');
    expect(hostOf(app).links()).toEqual([["Messages", "/messages"]]);
    await app.stop();
  });

  it("The page shows topics, handlers and values as text, and runs no script", async () => {
    const app = new App().enableMemoryBroker();
    app.logger = silent();
    const evil = "</style><script>alert(1)</script>";
    const Value = z.object({ [evil]: z.string().describe(evil) }).meta({ id: "Value" });
    app.onMessage(topic("things", { schema: Value, description: evil }), { summary: evil }, () => {});
    const response = await app.enableAsyncapi({ title: evil, description: evil }).request("/asyncapi");
    const html = await response.text();
    expect(html).not.toContain("<script");
    expect(html).toContain("&lt;script&gt;");
    expect(html).toContain("<h2>things</h2>");
    expect(html).toContain('<a href="#schema-Value">Value</a>');
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img/,
    );
    await app.stop();
  });

  it("The pages of the HTTP API and of the messages link to each other", async () => {
    const app = shop().enableOpenapi().enableAsyncapi();
    expect(await (await app.request("/docs")).text()).toContain('<a href="asyncapi">Messages</a>');
    expect(await (await app.request("/asyncapi")).text()).toContain('<a href="docs">HTTP API</a>');
    await app.stop();
  });
});
