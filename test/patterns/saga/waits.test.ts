import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import { topic } from "../../../src/engines/messaging/topic.js";
import type { SagaOptions } from "../../../src/patterns/saga/config.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import { StepRefused, StepUnknown } from "../../../src/patterns/saga/steps.js";
import { signal } from "../../../src/patterns/saga/waits.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const patient = { timeoutMs: 25_000 };
const waiting = { timeout: 25_000, interval: 20 };

describe.each(engines(server))("sagas that wait in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  let app: App;
  const apps: App[] = [];
  const create = (options: SagaOptions = {}): App => {
    const one = new App();
    one.logger = quiet;
    apps.push(one);
    return one
      .enableDatabase({ url, poolSize: 5 })
      .enableEventSourcing({ storeType: "postgres", poll: "50ms" })
      .enableMemoryBroker()
      .enableSaga({ backoff: "1ms", poll: "50ms", ...options });
  };
  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = create();
    await app.start();
  });
  afterAll(async () => {
    await Promise.all(apps.map((one) => one.stop()));
    await drop();
  });
  const name = (): string => `w${randomUUID().slice(0, 8)}`;
  const until = (id: string, status: string, where = app) =>
    vi.waitFor(async () => {
      const found = await where.sagas.get(id);
      expect(found?.status).toBe(status);
      return found!;
    }, waiting);
  const events = async (id: string): Promise<string[]> =>
    (await app.sagas.log(id)).map(({ event, step }) => (step === null ? event : `${event} ${step}`));

  it("A saga waits for a signal without a process, and continues with its value", async () => {
    const approved = signal("approved", { schema: z.object({ by: z.string() }) });
    const handle = app.saga(
      saga<string>(name())
        .step("ask", { action: () => "asked" })
        .waitFor("approval", { signal: approved })
        .step("tell", { action: ({ results }) => `${results.ask} ${results.approval.by}` }),
    );
    const id = await handle.start("x");
    await until(id, "waiting");
    const { owner } = (await app.database.fetchrow<{ owner: string | null }>(
      "select owner from stoa.sagas where id = $1",
      [id],
    ))!;
    expect(owner).toBeNull();
    await expect(app.sagas.signal(id, approved, { by: 7 } as never)).rejects.toMatchObject({ status: 422 });
    expect(await app.sagas.signal(id, approved, { by: "ada" }, { key: "once" })).toBe(true);
    expect(await app.sagas.signal(id, approved, { by: "eve" }, { key: "once" })).toBe(false);
    expect((await handle.wait(id, patient))!.results.tell).toBe("asked ada");
    expect(await app.sagas.signal(id, approved, { by: "late" })).toBe(false);
    await expect(app.sagas.signal("nobody", "approved")).rejects.toThrow('there is no saga with the id "nobody"');
    expect(await events(id)).toEqual([
      "started",
      "action started ask",
      "action done ask",
      "wait begins approval",
      "wait done approval",
      "action started tell",
      "action done tell",
      "completed",
    ]);
  });

  it("Signals that arrive before the wait begins are kept, in their order", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const handle = app.saga(
      saga(name())
        .step("first", { action: () => gate })
        .waitFor("one", { signal: signal<number>("n") })
        .waitFor("two", { signal: signal<number>("n") }),
    );
    const id = await handle.start(null);
    await vi.waitFor(async () => expect(await events(id)).toContain("action started first"), waiting);
    await app.sagas.signal(id, "n", 1);
    await app.sagas.signal(id, "n", 2);
    open();
    expect((await handle.wait(id, patient))!.results).toMatchObject({ one: 1, two: 2 });
  });

  it("A signal in a transaction arrives with the commit, or not at all", async () => {
    const handle = app.saga(saga(name()).waitFor("go"));
    const id = await handle.start(null);
    await until(id, "waiting");
    const failing = app.database.transaction(async (tx) => {
      await app.sagas.signal(id, "go", "rolled back", { tx });
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    await app.database.transaction(() => app.sagas.signal(id, "go", "committed"));
    expect((await handle.wait(id, patient))!.results.go).toBe("committed");
  });

  it("A wait whose time is over compensates the saga, and a later signal changes nothing", async () => {
    const undone: string[] = [];
    const handle = app.saga(
      saga(name())
        .step("a", { action: () => 1, compensate: () => void undone.push("a") })
        .waitFor("never", { timeout: "20ms" })
        .step("b", { action: () => void undone.push("b ran") }),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({
      status: "compensated",
      error: "the time of the wait is over",
    });
    expect(undone).toEqual(["a"]);
    expect(await app.sagas.signal(id, "never")).toBe(false);
  });

  it("An optional wait continues with null, and its time does nothing after the message has come", async () => {
    const handle = app.saga(
      saga(name())
        .waitFor("maybe", { timeout: "20ms", optional: true })
        .waitFor("answer", { timeout: "1m" })
        .sleep("rest", "10ms")
        .step("end", { action: ({ results }) => [results.maybe, results.answer, results.rest] }),
    );
    const id = await handle.start(null);
    await vi.waitFor(async () => expect(await events(id)).toContain("wait begins answer"), waiting);
    await app.sagas.signal(id, "answer", 42);
    expect((await handle.wait(id, patient))!.results.end).toEqual([null, 42, null]);
    // The time of the wait that was answered is gone with it: nothing is due any more.
    const row = await app.database.fetchrow("select wait_until, waiting_for from stoa.sagas where id = $1", [id]);
    expect(row).toEqual({ wait_until: null, waiting_for: null });
  });

  it("The time of a wait does not count for the time of the saga", async () => {
    const handle = app.saga(
      saga(name(), { timeoutMs: 3000 })
        .waitFor("go", {})
        .step("after", { action: () => "in time" }),
    );
    const id = await handle.start(null);
    await until(id, "waiting");
    const text = `update stoa.sagas set deadline = deadline - interval '1 hour', waiting_since = waiting_since - interval '1 hour'
      where id = $1`;
    await app.database.execute(text, [id]);
    await app.sagas.signal(id, "go");
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed", results: { after: "in time" } });
  });

  it("An abort ends a wait at once", async () => {
    const handle = app.saga(saga(name()).waitFor("never"));
    const id = await handle.start(null);
    await until(id, "waiting");
    await app.sagas.abort(id);
    expect(await handle.wait(id, patient)).toMatchObject({
      status: "compensated",
      error: "the end of the saga was asked for",
    });
  });

  it("A saga waits for the message of its key, which may come before the wait; one delivered twice counts once", async () => {
    const payments = topic(name(), {
      schema: z.object({ order: z.string(), amount: z.number() }),
      key: ({ order }) => order,
    });
    const one = create();
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const definition = saga<{ order: string }>(name())
      .step("before", { action: () => gate })
      .waitFor("paid", { topic: payments, key: ({ input }) => input.order })
      .step("after", { action: ({ results }) => results.paid.amount + 1 });
    const handle = one.saga(definition);
    await one.start();
    const [a, b] = [await handle.start({ order: "a" }), await handle.start({ order: "b" })];
    await one.publish(payments, { order: "a", amount: 10 }, { id: "m1" });
    await one.publish(payments, { order: "a", amount: 10 }, { id: "m1" });
    const kept = () =>
      one.database.fetchval<number>("select count(*)::int from stoa.saga_inbox where source_id = 'm1'");
    await vi.waitFor(async () => expect(await kept()).toBe(1), waiting);
    open();
    expect((await handle.wait(a, patient))!.results.after).toBe(11);
    await until(b, "waiting", one);
    await one.publish(payments, { order: "b", amount: 20 });
    expect((await handle.wait(b, patient))!.results.after).toBe(21);
    expect(await kept()).toBe(1);
  });

  it("A wait reads the key of a message or an event from what it holds, where 'keyOf' says so", async () => {
    const one = create();
    const [payments, category] = [name(), name()];
    const handle = one.saga(
      saga<{ order: string }>(name())
        .waitFor("paid", {
          topic: payments,
          key: ({ input }) => input.order,
          keyOf: ({ value }: { readonly value: { readonly order: string } }) => value.order,
        })
        .waitFor("sent", {
          event: "Sent",
          key: ({ input }) => input.order,
          keyOf: ({ data }: { readonly data: { readonly order: string } }) => data.order,
        }),
    );
    await one.start();
    const id = await handle.start({ order: "7" });
    await until(id, "waiting", one);
    await one.publish(payments, { order: "8" }, { key: "7" });
    await one.publish(payments, { order: "7" }, { key: "8" });
    await vi.waitFor(async () => {
      await one.eventStore.append(`${category}-1`, { type: "Sent", data: { order: "7" } });
      expect(await one.sagas.get(id)).toMatchObject({ status: "completed" });
    }, waiting);
    expect((await handle.wait(id, patient))!.results).toEqual({ paid: { order: "7" }, sent: { order: "7" } });
    // Events that it has not read yet would be messages for waits, which another test counts.
    await one.stop();
  });

  it("A saga waits for an event of the event store", async () => {
    const one = create();
    const category = name();
    const orders = { category, eventTypes: undefined as { Paid: { amount: number } } | undefined };
    const handle = one.saga(
      saga<{ order: string }>(name())
        .waitFor("paid", { event: "Paid", from: orders, key: ({ input }) => `${category}-${input.order}` })
        .step("after", { action: ({ results }) => results.paid.amount }),
    );
    await one.start();
    const id = await handle.start({ order: "7" });
    await until(id, "waiting", one);
    await vi.waitFor(async () => {
      await one.eventStore.append(`${category}-7`, { type: "Paid", data: { amount: 5 } });
      expect(await one.sagas.get(id)).toMatchObject({ status: "completed", results: { after: 5 } });
    }, waiting);
  });

  it("Steps in parallel run at the same time, and the next step has all results", async () => {
    const started: string[] = [];
    let open = (): void => {};
    const both = new Promise<void>((resolve) => (open = resolve));
    const meet = async <T>(who: string, result: T): Promise<T> => {
      if (started.push(who) === 2) open();
      await both;
      return result;
    };
    const handle = app.saga(
      saga<number>(name())
        .parallel((step) => ({
          left: step({ action: ({ input }) => meet("left", input + 1) }),
          right: step({ action: ({ key }) => meet("right", key.split(":")[1]) }),
        }))
        .step("sum", { action: ({ results }) => `${results.left} ${results.right}` }),
    );
    const run = await handle.wait(await handle.start(1), patient);
    expect(run!.results.sum).toBe("2 right");
  });

  it("If a parallel step fails for good, those that were done or unknown are compensated, and no other one", async () => {
    const undone: string[] = [];
    const undo = (which: string) => () => void undone.push(which);
    const attempts: number[] = [];
    const handle = app.saga(
      saga(name())
        .step("first", { action: () => 1, compensate: undo("first") })
        .parallel({
          good: { action: () => 1, compensate: undo("good") },
          flaky: {
            action: ({ attempt }) => {
              attempts.push(attempt);
              if (attempt < 3) throw new Error("not yet");
            },
            compensate: undo("flaky"),
          },
          slow: { action: () => new Promise(() => {}), timeout: "50ms", retries: 1000, compensate: undo("slow") },
          bad: {
            action: async ({ sagaId }) => {
              await vi.waitFor(async () => {
                const found = await app.sagas.get(sagaId);
                expect(Object.keys(found!.results)).toEqual(expect.arrayContaining(["good", "flaky"]));
              }, waiting);
              throw new StepRefused("never");
            },
            compensate: undo("bad"),
          },
        }),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
    expect(attempts).toEqual([1, 2, 3]);
    expect(undone).toEqual(["slow", "flaky", "good", "first"]);
  });

  it("If the outcome of a parallel step stays unknown, that step is compensated too", async () => {
    const undone: string[] = [];
    const attempts: number[] = [];
    const handle = app.saga(
      saga(name()).parallel((step) => ({
        good: step({ action: () => 1, compensate: ({ result }) => void undone.push(`good ${result}`) }),
        unsure: step({
          retries: 1,
          action: async ({ attempt, sagaId }): Promise<number> => {
            attempts.push(attempt);
            await vi.waitFor(async () => {
              expect(Object.keys((await app.sagas.get(sagaId))!.results)).toEqual(["good"]);
            }, waiting);
            throw new StepUnknown("no response");
          },
          compensate: ({ result }) => void undone.push(`unsure ${result}`),
        }),
      })),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({
      status: "compensated",
      error: "StepUnknown: no response",
    });
    expect(attempts).toEqual([1, 2]);
    expect(undone).toEqual(["unsure undefined", "good 1"]);
  });

  it("A child saga runs by itself, and its results are those of its part", async () => {
    const shipping = saga(name(), { input: z.object({ to: z.string() }) }).step("pack", {
      action: ({ input }) => `packed for ${input.to}`,
    });
    const handle = app.saga(
      saga<string>(name())
        .step("a", { action: () => "a" })
        .child("shipping", shipping, ({ input, results }) => ({ to: `${input} ${results.a}` }))
        .step("end", { action: ({ results }) => results.shipping.pack }),
    );
    const id = await handle.start("ada");
    expect((await handle.wait(id, patient))!.results.end).toBe("packed for ada a");
    expect(await app.sagas.children(id)).toMatchObject([{ id: `${id}/shipping`, parentId: id, status: "completed" }]);
  });

  it("A child that fails compensates its parent; a parent that fails compensates its children, the newest first", async () => {
    const undone: string[] = [];
    const undo = (which: string) => () => void undone.push(which);
    const good = saga<string>(name())
      .step("x", { action: ({ input }) => input, compensate: ({ input }) => void undone.push(`x ${input}`) })
      .step("y", { action: () => 1, compensate: ({ input }) => void undone.push(`y ${input}`) });
    const bad = saga(name())
      .step("z", { action: () => 1, compensate: undo("z") })
      .step("no", { action: () => Promise.reject(new StepRefused("child says no")) });
    const definition = saga(name())
      .step("a", { action: () => 1, compensate: undo("a") })
      .child("one", good, "first")
      .child("two", good, "second")
      .child("three", bad, null);
    const handle = app.saga(definition);
    const id = await handle.start(null);
    const run = await handle.wait(id, patient);
    expect(run).toMatchObject({ status: "compensated" });
    expect(run!.error).toBe(`the saga ${bad.name} was compensated: StepRefused: child says no`);
    expect(undone).toEqual(["z", "y second", "x second", "y first", "x first", "a"]);
    expect((await app.sagas.children(id)).map(({ status }) => status)).toEqual(Array(3).fill("compensated"));
  });

  it("An abort of a parent reaches the child that it waits for, and the child of that", async () => {
    const undone: string[] = [];
    const inner = saga(name())
      .step("deep", { action: () => 1, compensate: () => void undone.push("deep") })
      .waitFor("never");
    const middle = saga(name()).child("inner", inner, null);
    const handle = app.saga(
      saga(name())
        .step("a", { action: () => 1, compensate: () => void undone.push("a") })
        .child("middle", middle, null),
    );
    const id = await handle.start(null);
    await until(`${id}/middle/inner`, "waiting");
    await app.sagas.abort(id);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
    expect(undone).toEqual(["deep", "a"]);
    for (const child of ["middle", "middle/inner"]) {
      expect(await app.sagas.get(`${id}/${child}`)).toMatchObject({ status: "compensated" });
    }
  });

  it("A child that a person aborts while it is parked lets its parent continue", async () => {
    const child = saga(name())
      .step("stuck", {
        action: () => 1,
        compensate: () => Promise.reject(new Error("away")),
        compensateRetries: 0,
      })
      .step("no", { action: () => Promise.reject(new StepRefused("no")) });
    const handle = app.saga(saga(name()).child("part", child, null));
    const id = await handle.start(null);
    await until(`${id}/part`, "parked");
    await until(id, "waiting");
    await app.sagas.abort(`${id}/part`);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
  });

  // The embedded database ends with its application.
  if (engine.name !== "pglite")
    it("An execution of a version that no worker knows is parked with the reason, and goes on once it is known", async () => {
      const named = name();
      const one = create({ unknownVersion: "100ms" });
      const old = saga(named, { version: 1 })
        .waitFor("go")
        .step("a", { action: () => "old" });
      const handle = app.saga(old);
      const id = await handle.start(null);
      await until(id, "waiting");
      await app.stop();
      one.saga(saga(named, { version: 2 }).step("a", { action: () => "new" }));
      await one.start();
      app = one;
      await one.sagas.signal(id, "go", 1);
      const parked = await until(id, "parked");
      expect(parked.error).toBe(
        `no worker knows version 1 of the saga "${named}": register its definition beside the new one with app.saga()`,
      );
      await expect(one.sagas.skip(id)).rejects.toThrow("no worker knows version 1");
      const again = one.saga(old);
      await until(id, "completed");
      expect((await again.wait(id, patient))!.results.a).toBe("old");
    });

  it("Messages for waits are deleted after their days", async () => {
    const { Sweeper } = await import("../../../src/patterns/saga/sweeper.js");
    const { SagaStorage } = await import("../../../src/patterns/saga/storage.js");
    const { SagaConfig } = await import("../../../src/patterns/saga/config.js");
    const db = app.database;
    await db.execute(
      "insert into stoa.saga_inbox (address, value) select 'x ' || n, '1' from generate_series(1, 30) n",
    );
    await db.execute("update stoa.saga_inbox set at = at - interval '8 days' where address = 'x 1'");
    const sweep = (options: SagaOptions) =>
      new Sweeper(new SagaStorage(db, "stoa", "x", 1000), new SagaConfig(options), quiet, () => []).sweep();
    const count = () => db.fetchval<number>("select count(*)::int from stoa.saga_inbox where address like 'x %'");
    await sweep({});
    expect(await count()).toBe(29);
    await db.execute("update stoa.saga_inbox set at = at - interval '2 hours' where address = 'x 2'");
    await sweep({ inbox: "1h" });
    expect(await count()).toBe(28);
    await sweep({ retentionCount: 10 });
    expect(await count()).toBe(10);
  });

  it("Wrong waits, sleeps and children are refused with a message", async () => {
    const start = saga("s");
    expect(() => start.waitFor("a", { signal: "x", topic: "y", key: () => "" } as never)).toThrow("signal and topic");
    expect(() => start.waitFor("a", { topic: "t" } as never)).toThrow("option 'key' is required");
    expect(() => start.waitFor("a", { key: () => "x" } as never)).toThrow("have none");
    expect(() => start.waitFor("a", { timout: 1 } as never)).toThrow("did you mean 'timeout'?");
    expect(() => start.waitFor("a", { schema: z.string() } as never)).toThrow("signal(name, { schema })");
    const misplaced = { topic: "t", key: () => "", from: class Order {} };
    expect(() => start.waitFor("a", misplaced as never)).toThrow("'from' in wait \"a\" goes with an event only");
    expect(() => start.sleep("a", -1)).toThrow("a saga sleeps for");
    expect(() => start.parallel({})).toThrow("parallel() takes an object of steps");
    expect(() => start.parallel({ a: {} as never })).toThrow("option 'action' is required");
    expect(() => start.step("a", { action: () => 1 }).parallel({ a: { action: () => 1 } })).toThrow("two steps");
    expect(() => start.child("a", null as never, 1 as never)).toThrow("a definition made by saga()");
    expect(() => start.child("a", saga("empty"), 1)).toThrow("has no steps");
    const sleepy = app.saga(saga(name()).sleep("bad", () => Number.NaN));
    expect(await sleepy.wait(await sleepy.start(null), patient)).toMatchObject({ status: "compensated" });
    const without = new App();
    without.logger = quiet;
    without.enableDatabase(url).enableSaga();
    without.saga(saga("t").waitFor("x", { topic: "orders", key: () => "1" }));
    await expect(without.start()).rejects.toThrow("needs a broker");
    await without.stop();
  });
});
