import { App } from "stoa";
import { type Message, topic } from "stoa/messaging";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { silent, until } from "./harness.js";

const orders = topic("orders", { schema: z.object({ id: z.string(), total: z.number() }), key: (order) => order.id });

const started: App[] = [];
afterEach(async () => {
  for (const app of started.splice(0)) await app.stop();
});

function makeApp(): App {
  const app = new App();
  app.logger = silent();
  app.enableMemoryBroker();
  started.push(app);
  return app;
}

it("A decorated method handles messages with its instance as this, and a function can be decorated too", async () => {
  const app = makeApp();
  const seen: unknown[] = [];
  class Shipping {
    readonly #prefix = "shipped";

    @app.onMessage(orders, { concurrency: 1 })
    ship(message: Message<{ id: string; total: number }>) {
      seen.push(`${this.#prefix} ${message.value.id}`);
    }
  }
  new Shipping();
  app.onMessage(/^(plain|simple)$/)((message) => {
    seen.push(message.value);
  });
  expect(app.onMessage("chained", () => {})).toBe(app);
  await app.start();
  await app.publish(orders, { id: "o1", total: 1 });
  await app.publish("plain", 7);
  await until(() => seen.length === 2);
  expect(seen).toEqual(["shipped o1", 7]);
});

it("A decorated message handler whose class is never instantiated is named in a warning at the start", async () => {
  const app = makeApp();
  const logger = silent();
  app.logger = logger;
  class Shipping {
    @app.onMessage("orders")
    ship() {}
  }
  void Shipping;
  await app.start();
  expect(logger.lines.map(({ message }) => message)).toContain(
    "ship() for messages of 'orders' is decorated but not registered: create an instance of its class before the start",
  );
  expect(() => app.onMessage("late", () => {})).toThrow("onMessage('late') comes too late");
});
