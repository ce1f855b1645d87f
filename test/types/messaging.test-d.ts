import { App, Depends } from "stoa";
import { type Message, topic } from "stoa/messaging";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const orders = topic("orders", {
  schema: z.object({ id: z.string(), at: z.string().transform((text) => new Date(text)) }),
  key: (order) => order.id,
});
const plain = topic<{ n: number }>("plain");
const app = new App();

describe("a topic", () => {
  it("A topic gives publishers the input of its schema and handlers the output", () => {
    app.publish(orders, { id: "1", at: "2026-01-01" });
    // @ts-expect-error the date is a text when it is published
    app.publish(orders, { id: "1", at: new Date() });
    // @ts-expect-error a member is missing
    app.publish(orders, { id: "1" });
    app.onMessage(orders, (message) => {
      expectTypeOf(message.value).toEqualTypeOf<{ id: string; at: Date }>();
    });
    app.publishBatch(plain, [{ value: { n: 1 }, key: "k" }]);
    // @ts-expect-error not a number
    app.publishBatch(plain, [{ value: { n: "1" } }]);
    app.onMessage(plain, { concurrency: 1 }, (message) => {
      expectTypeOf(message.value).toEqualTypeOf<{ n: number }>();
    });
  });

  it("A topic that is given by its name has values of an unknown type, or of the schema of the consumer", () => {
    app.publish("any", 1);
    app.onMessage("any", (message) => {
      expectTypeOf(message.value).toBeUnknown();
    });
    app.onMessage("any", { schema: z.object({ n: z.number() }) }, (message) => {
      expectTypeOf(message.value).toEqualTypeOf<{ n: number }>();
    });
  });
});

describe("a pattern of topics", () => {
  it("A pattern is consumed like a topic by its name, and cannot be published to", () => {
    app.onMessage(/^orders\./, (message) => {
      expectTypeOf(message.topic).toBeString();
      expectTypeOf(message.value).toBeUnknown();
    });
    app.onMessage(/^orders\./, { schema: z.object({ n: z.number() }) }, (message) => {
      expectTypeOf(message.value).toEqualTypeOf<{ n: number }>();
    });
    // @ts-expect-error a message has one topic
    app.publish(/^orders\./, 1);
  });
});

describe("a message handler", () => {
  it("A message handler gets the dependencies that it asks for", () => {
    app.onMessage("any", { inject: { mail: Depends<{ send(): void }>("mail") } }, (_message, { mail }) => {
      expectTypeOf(mail.send).toBeFunction();
    });
  });

  it("A batch handler gets a list of messages, and a transactional one the transaction", () => {
    app.onMessage(plain, { batch: 10 }, (messages) => {
      expectTypeOf(messages).toEqualTypeOf<readonly Message<{ n: number }>[]>();
    });
    app.onMessage(plain, { batch: { size: 5, wait: 1 }, transactional: true }, async (messages, { tx }) => {
      await tx.publish(orders, { id: String(messages.length), at: "2026-01-01" });
      // @ts-expect-error a member is missing
      await tx.publish(orders, { id: "1" });
    });
  });

  it("A request has the type of the topic's replies, and its handler must return it", async () => {
    const prices = topic("prices", { schema: z.object({ sku: z.string() }), reply: z.object({ cents: z.number() }) });
    const reply = await app.messaging.request(prices, { sku: "a" }, { timeout: 1 });
    expectTypeOf(reply).toEqualTypeOf<{ cents: number }>();
    app.onMessage(prices, () => ({ cents: 1 }));
    // @ts-expect-error not the reply of the topic
    app.onMessage(prices, () => ({ euros: 1 }));
    expectTypeOf(await app.messaging.request("any", 1)).toBeUnknown();
    expectTypeOf(await app.messaging.request(topic<string, number>("lengths"), "abc")).toBeNumber();
  });

  it("onMessage() without a handler is a decorator of methods that fit the topic", () => {
    class Shipping {
      @app.onMessage(plain)
      one(message: Message<{ n: number }>) {
        return message.value.n;
      }

      @app.onMessage(plain, { batch: 10 })
      many(messages: readonly Message<{ n: number }>[]) {
        return messages.length;
      }
    }
    new Shipping();
    // @ts-expect-error the values of the topic are no strings
    app.onMessage(plain)((message: Message<string>) => message.value);
  });

  it("onMessage() refuses an option that does not exist", () => {
    // @ts-expect-error there is no such option
    app.onMessage("any", { retries: 3 }, () => {});
  });

  it("onMessage() returns the application, so that calls can be chained", () => {
    expectTypeOf(app.enableMemoryBroker().onMessage("a", () => {})).toEqualTypeOf<App>();
  });
});
