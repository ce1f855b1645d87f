import { App, Depends, type Request, UnauthorizedError, ValueError } from "stoa";
import { MessagingError, topic } from "stoa/messaging";
import { testClient, testMessages } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
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

describe("message handlers of an application", () => {
  it("A topic that is published by a misspelt name is in the log once, with the name that is consumed", async () => {
    const app = makeApp();
    const lines: string[] = [];
    app.logger = { ...silent(), warn: (line) => void lines.push(line) };
    app.onMessage(orders, () => {});
    await app.start();
    for (const name of ["ordres", "ordres", "invoices", "orders.eu"]) await app.publish(name, { id: "o1", total: 5 });
    await app.publish("orders", { id: "o1", total: 5 });
    expect(lines).toEqual(["nothing here consumes the topic 'ordres' that is published; did you mean 'orders'?"]);
  });

  it("The broker in memory refuses a message of more than maxBytes", async () => {
    const app = new App();
    app.logger = silent();
    started.push(app.enableMemoryBroker({ maxBytes: 2000 }));
    await app.start();
    await app.publish("texts", "x".repeat(1000));
    await expect(app.publish("texts", "x".repeat(3000))).rejects.toThrow(MessagingError);
  });

  it("A route publishes and a handler receives, with the type and the key of the topic", async () => {
    const app = makeApp();
    const seen: unknown[] = [];
    app.onMessage(orders, (message) => {
      seen.push([message.key, message.value.total.toFixed(2)]);
    });
    app.post(
      "/orders",
      { body: orders.schema as z.ZodType<{ id: string; total: number }>, status: 202 },
      async (request, { body }) => request.messaging.publish(orders, body),
    );
    const response = await testClient(app).post("/orders", { json: { id: "o1", total: 5 } });
    expect(response.status).toBe(202);
    await until(() => seen.length === 1);
    expect(seen).toEqual([["o1", "5.00"]]);
  });

  it("A message handler gets its dependencies, and scoped ones are made for each message and disposed after it", async () => {
    const app = makeApp();
    const log: string[] = [];
    app.registerSingleton("mailer", { send: (text: string) => log.push(`sent ${text}`) });
    app.registerScoped("unit", (request: Request) => ({
      id: request.id,
      [Symbol.dispose]: () => log.push(`disposed ${request.message?.id}`),
    }));
    const inject = { mailer: Depends<{ send(text: string): void }>("mailer"), unit: Depends<{ id: string }>("unit") };
    app.onMessage("mails", { inject, concurrency: 1 }, (message, { mailer, unit }) => {
      mailer.send(`${message.value} in ${unit.id}`);
    });
    await app.start();
    await app.publish("mails", "one", { id: "m1" });
    await app.publish("mails", "two", { id: "m2" });
    await until(() => log.length === 4);
    expect(log).toEqual(["sent one in m1", "disposed m1", "sent two in m2", "disposed m2"]);
  });

  it("A batch handler gets dependencies once for the batch, and guards look at each of its messages", async () => {
    const app = makeApp();
    const log: string[] = [];
    app.registerScoped("unit", () => {
      log.push("made");
      return { [Symbol.dispose]: () => log.push("disposed") };
    });
    const inject = { unit: Depends<object>("unit") };
    const guards = [(request: Request) => request.message?.value !== "bad"];
    app.onMessage("mails", { inject, guards, batch: { size: 3, wait: 0.1 } }, (messages, { unit }) => {
      log.push(`${messages.map(({ value }) => value).join()} with ${typeof unit}`);
    });
    await app.start();
    await app.publishBatch("mails", [{ value: "one" }, { value: "bad" }, { value: "two" }]);
    await until(() => log.includes("disposed"));
    expect(log).toEqual(["made", "one,two with object", "disposed"]);
    await until(async () => (await app.deadLetters.list("mails")).length === 1);
    expect(await app.deadLetters.list("mails")).toMatchObject([{ text: '"bad"', reason: "refused" }]);
  });

  it("A request from a route resolves to the reply of a handler, with the type of the topic", async () => {
    const app = makeApp();
    const prices = topic("prices", {
      schema: z.object({ sku: z.string() }),
      reply: z.object({ cents: z.number() }),
    });
    app.onMessage(prices, ({ value }) => ({ cents: value.sku.length * 100 }));
    app.get("/price/{sku}", async (request) => {
      const { cents } = await request.messaging.request(prices, { sku: request.params.sku }, { timeout: 60 });
      return { price: cents / 100 };
    });
    const response = await testClient(app).get("/price/abc");
    expect(await response.json()).toEqual({ price: 3 });
  });

  it("A message that a guard refuses is a dead letter, and the handler does not run", async () => {
    const app = makeApp();
    let ran = 0;
    const signed = (request: Request) => request.headers.get("signature") === "good" || "no signature";
    const strict = () => {
      throw new UnauthorizedError("who are you?");
    };
    app.onMessage("a", { guards: [signed] }, () => void ran++);
    app.onMessage("b", { guards: [strict] }, () => void ran++);
    await app.start();
    await app.publish("a", 1);
    await app.publish("b", 1);
    await app.publish("a", 2, { headers: { signature: "good" } });
    await until(() => ran === 1);
    await until(async () => (await app.deadLetters.list("b")).length === 1);
    const letters = [...(await app.deadLetters.list("a")), ...(await app.deadLetters.list("b"))];
    expect(letters.map(({ reason, error }) => [reason, error])).toEqual([
      ["refused", "RefusedError: no signature"],
      ["refused", "RefusedError: who are you?"],
    ]);
  });

  it("A guard that throws lets no message pass, and runs again", async () => {
    const app = makeApp();
    let asked = 0;
    let ran = 0;
    const shaky = () => {
      if (++asked < 3) throw new Error("the directory does not respond");
      return true;
    };
    app.onMessage("a", { guards: [shaky], retry: { delay: 0.01 } }, () => void ran++);
    await app.start();
    await app.publish("a", 1);
    await until(() => ran === 1);
    expect(asked).toBe(3);
  });

  it("Consumers start after the startup hooks, and end before the shutdown hooks", async () => {
    const app = makeApp();
    const log: string[] = [];
    app.onMessage("a", (message) => {
      log.push(`handled ${message.value} ${app.state.ready}`);
    });
    app.onEvent("startup", async () => {
      await app.publish("a", 1);
      await new Promise((resolve) => setImmediate(resolve));
      app.state.ready = "ready";
    });
    app.onEvent("shutdown", () => {
      log.push(`consumers at the end: ${app.messaging.consumers.length}`);
    });
    await app.start();
    await until(() => log.length === 1);
    await app.stop();
    expect(log).toEqual(["handled 1 ready", "consumers at the end: 0"]);
  });

  it("The end of the application waits for message handlers that run", async () => {
    const app = makeApp();
    let finished = false;
    let begun = false;
    app.onMessage("a", async () => {
      begun = true;
      await new Promise((resolve) => setTimeout(resolve, 20));
      finished = true;
    });
    await app.start();
    await app.publish("a", 1);
    await until(() => begun);
    await app.stop();
    expect(finished).toBe(true);
  });

  it("Metrics count messages by topic, group and result, and show the lag", async () => {
    const app = makeApp();
    app.enableMetrics();
    let handled = 0;
    app.onMessage("a", { retry: { delay: 0.001, attempts: 2 }, concurrency: 1 }, (message) => {
      handled++;
      if (message.value === "bad") throw new Error("no");
    });
    const client = await testClient(app).start();
    await app.publish("a", "good");
    await app.publish("a", "bad");
    await until(async () => (await app.deadLetters.list("a")).length === 1);
    await until(() => app.messaging.consumers[0]!.stats().held === 0);
    const text = await (await client.get("/metrics")).text();
    for (const line of [
      'framework_messages_published_total{topic="a",result="ok"} 2',
      'framework_messages_handled_total{topic="a",group="stoa",result="done"} 1',
      'framework_messages_handled_total{topic="a",group="stoa",result="dead"} 1',
      'framework_messages_failed_attempts_total{topic="a",group="stoa"} 2',
      'framework_messages_lag{topic="a",group="stoa"} 0',
      'framework_messages_in_flight{topic="a",group="stoa"} 0',
      'framework_message_attempt_duration_seconds_count{topic="a",group="stoa"} 3',
    ]) {
      expect(text).toContain(line);
    }
    expect(handled).toBe(3);
  });

  it("Readiness shows the broker and the consumers", async () => {
    const app = makeApp();
    app.enableHealthChecks();
    app.onMessage("a", () => {});
    const client = await testClient(app).start();
    const report = (await (await client.get("/health/ready")).json()) as { checks: Record<string, { status: string }> };
    expect(report.checks.memory_broker!.status).toBe("UP");
    expect(report.checks.consumers!.status).toBe("UP");
  });
});

describe("mistakes", () => {
  it("A message handler without a broker is an error at the start", async () => {
    const app = new App();
    app.onMessage("a", () => {});
    await expect(app.start()).rejects.toThrow("onMessage('a') needs a broker");
  });

  it("onMessage() refuses wrong options, names and handlers at once", () => {
    const app = makeApp();
    expect(() => app.onMessage("a", { concurrency: 0 }, () => {})).toThrow(
      "option 'concurrency' in onMessage('a') must be an integer from 1 to 10000, not 0",
    );
    // @ts-expect-error: there is no such option
    expect(() => app.onMessage("a", { retries: 3 }, () => {})).toThrow("unknown option 'retries' in onMessage('a')");
    expect(() => app.onMessage("a b", () => {})).toThrow(ValueError);
    expect(() => app.onMessage("a", undefined as never)).toThrow("onMessage('a') needs a handler");
    expect(() => app.onMessage("a", { batch: 0 }, () => {})).toThrow(ValueError);
    expect(() => app.onMessage("a", { batch: { wait: 1 } as never }, () => {})).toThrow("'size' is required");
    expect(() => app.onMessage("a", { batch: 10, prefetch: 5 }, () => {})).toThrow("must not be smaller than");
    expect(() => app.onMessage("a", { transactional: true, concurrency: 2 }, () => {})).toThrow("is transactional");
    expect(() => app.onMessage("a", { broadcast: true, group: "g" }, () => {})).toThrow("both 'broadcast' and 'group'");
    expect(() => app.onMessage("a", { retry: { attempts: 0 } }, () => {})).toThrow("'retry' of onMessage('a')");
  });

  it("publish() and publishBatch() refuse wrong values, headers and options", async () => {
    const app = makeApp();
    await app.start();
    await expect(app.publish("a", () => {})).rejects.toThrow("a message needs a value that JSON can hold");
    await expect(app.publish("a", { b: Promise.reject(new Error("left")) })).rejects.toThrow("result.b is a promise");
    await expect(app.publish("a", 1, { headers: { "stoa-group": "x" } })).rejects.toThrow("belong to the framework");
    await expect(app.publish("a", 1, { headers: { "x-a": "a\r\nb" } })).rejects.toThrow("on one line");
    await expect(app.publish("a", 1, { delay: -1 })).rejects.toThrow("option 'delay'");
    // @ts-expect-error: the total is a number
    const wrong = app.publish(orders, { id: "1", total: "2" });
    await expect(wrong).rejects.toBeInstanceOf(MessagingError);
    expect(() => app.publishBatch("a", [1] as never)).toThrow("an entry of publishBatch()");
  });

  it("An application has messages, commands and metrics beside each other", async () => {
    const app = makeApp();
    app.enableMetrics().enableCqrs();
    await app.start();
    await app.stop();
  });

  it("publish() before the start throws an error that says so", () => {
    const app = makeApp();
    expect(() => app.publish("a", 1)).toThrow("app.publish() was used before the application was started");
  });

  it("An unknown dependency of a message handler is an error at the start", async () => {
    const app = makeApp();
    app.onMessage("a", { inject: { mail: Depends("mail") } }, () => {});
    await expect(app.start()).rejects.toThrow("unknown dependency 'mail'");
  });
});

describe("testMessages", () => {
  it("testMessages() shows published messages, delivers to a handler, and waits until all messages are handled", async () => {
    const app = makeApp();
    const messages = testMessages(app);
    app.onMessage(orders, async (message) => {
      if (message.value.total < 0) throw new Error("negative");
      await app.publish("receipts", { for: message.value.id });
    });
    expect(await messages.deliver(orders, { id: "o1", total: 1 })).toEqual({ result: "done", error: undefined });
    expect((await messages.deliver(orders, { id: "o1", total: -1 })).result).toBe("retry");
    expect((await messages.deliver(orders, { total: "?" })).result).toBe("dead");
    messages.clear();
    await messages.publish(orders, { id: "o2", total: 3 });
    await messages.idle();
    expect(messages.published("receipts").map(({ value }) => value)).toEqual([{ for: "o2" }]);
    expect(messages.published(orders)).toMatchObject([{ key: "o2", value: { id: "o2", total: 3 } }]);
    expect(await messages.deadLetters(orders)).toEqual([]);
  });

  it("A message that a test delivers to a handler of batches or transactions meets its guards, and what it publishes is seen", async () => {
    const app = makeApp();
    const messages = testMessages(app);
    const guards = [(request: { message: { value: unknown } | undefined }) => request.message?.value !== "bad"];
    app.onMessage("batched", { batch: 5, guards } as never, (() => {}) as never);
    app.onMessage("transacted", { transactional: true }, async (message, { tx }) => {
      await tx.publish("copies", message.value);
      if (message.value === "bad") throw new Error("bad");
    });
    expect(await messages.deliver("batched", "good")).toMatchObject({ result: "done" });
    expect(await messages.deliver("batched", "bad")).toMatchObject({ result: "dead" });
    expect(await messages.deliver("transacted", "good")).toMatchObject({ result: "done" });
    expect(await messages.deliver("transacted", "bad")).toMatchObject({ result: "retry" });
    expect(messages.published("copies").map(({ value }) => value)).toEqual(["good"]);
  });
});
