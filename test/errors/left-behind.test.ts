import { App, Response } from "stoa";
import { topic } from "stoa/messaging";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { KvCommands } from "../../src/engines/kvstore/commands/commands.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { Sweeper } from "../../src/patterns/saga/sweeper.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";
import { unhandledIn } from "../support/unhandled.js";

const empty = emptyDatabases(service("postgres"));

const rejected = (): Promise<never> => Promise.reject(new Error("left behind"));

function quietApp(): App {
  const app = new App();
  app.logger = quiet;
  return app;
}

describe("promises that nobody waits for any more", () => {
  it.each([
    [
      "inside of the value of another one, while a third is awaited",
      500,
      () => ({ slow: turns(5), fast: Promise.resolve({ inner: rejected() }) }),
    ],
    ["beside an object without JSON", 500, () => ({ promise: rejected(), map: new WeakMap() })],
    ["before a circle", 500, () => circular({ promise: rejected() })],
    ["after a circle", 500, () => ({ circle: circular({}), promise: rejected(), list: [rejected()] })],
    ["beside another one", 500, () => [rejected(), { deep: rejected() }, rejected()]],
  ])("A promise in the result of a handler can be rejected %s", async (_, status, handler) => {
    const app = quietApp();
    app.get("/", handler as never);
    const reasons = await unhandledIn(async () => expect((await app.request("/")).status).toBe(status));
    expect(reasons).toEqual([]);
  });

  it("A promise in the data of Response.json() can be rejected", async () => {
    const app = quietApp();
    app.get("/", () => Response.json({ map: new WeakMap(), promise: rejected() }));
    expect(await unhandledIn(() => app.request("/"))).toEqual([]);
  });

  it("A message of a batch may not fit its schema where the options of the next one are wrong", async () => {
    const app = quietApp();
    app.enableMemoryBroker();
    const orders = topic("orders", { schema: z.object({ id: z.string() }) });
    await app.start();
    const reasons = await unhandledIn(() =>
      expect(
        app.publishBatch(orders, [{ value: { id: 1 } as never }, { value: { id: "2" }, delay: -1 }]),
      ).rejects.toThrow(),
    );
    expect(reasons).toEqual([]);
    await app.stop();
  });

  it("A saga that is added after the start may not reach its database", async () => {
    const app = quietApp();
    app.enableDatabase(await empty()).enableSaga();
    await app.start();
    const unpark = vi.spyOn(Sweeper.prototype, "unpark").mockRejectedValue(new Error("the database is away"));
    const reasons = await unhandledIn(() => app.saga(saga("late").step("a", { action: () => 1 })));
    unpark.mockRestore();
    expect(reasons).toEqual([]);
    await app.stop();
  });

  it("A call of the key-value store for several keys may fail beside a key that is refused", async () => {
    const runner = { prefix: "", clustered: true, run: rejected };
    const kv = new KvCommands(runner as never);
    const reasons = await unhandledIn(async () => {
      for (const call of [
        () => kv.mget(["a", 1 as never]),
        () => kv.mset({ a: "1", b: undefined as never }),
        () => kv.delete("a", 1 as never),
      ]) {
        await expect(async () => call()).rejects.toThrow();
      }
    });
    expect(reasons).toEqual([]);
  });
});

async function turns(count: number): Promise<string> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
  return "done";
}

function circular(value: Record<string, unknown>): object {
  value["self"] = value;
  return value;
}
