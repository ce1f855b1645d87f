import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import { SagaConfig, type SagaOptions } from "../../../src/patterns/saga/config.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import { StepRefused, StepUnknown } from "../../../src/patterns/saga/steps.js";
import { SagaStorage } from "../../../src/patterns/saga/storage.js";
import { Sweeper } from "../../../src/patterns/saga/sweeper.js";
import { engines } from "../../engines/db/engines.js";
import { blockFor } from "../../support/block-for.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const patient = { timeoutMs: 25_000 };

describe.each(engines(server))("sagas in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  let app: App;
  const apps: App[] = [];
  const start = async (options: SagaOptions = {}): Promise<App> => {
    const one = new App();
    one.logger = quiet;
    apps.push(one);
    one
      .enableDatabase({ url, poolSize: 5 })
      .enableSaga({ backoff: "1ms", poll: "50ms", lease: "1s", maxLost: 6, ...options });
    await one.start();
    return one;
  };
  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = await start();
  });
  afterAll(async () => {
    await Promise.all(apps.map((one) => one.stop()));
    await drop();
  });
  const name = (): string => `s${randomUUID().slice(0, 8)}`;
  const events = async (id: string): Promise<string[]> =>
    (await app.sagas.log(id)).map(({ event, step }) => (step === null ? event : `${event} ${step}`));

  it.each(["one after the other", "in parallel"])(
    "A resumed step, run %s, whose workers were lost before has its retries and no more",
    async (way) => {
      const named = name();
      const tried: number[] = [];
      const pay = {
        retries: 1,
        action({ attempt }: { readonly attempt: number }): void {
          tried.push(attempt);
          throw new Error("no");
        },
      };
      const begun = saga<null>(named);
      if (way === "in parallel") app.saga(begun.parallel({ pay }));
      else app.saga(begun.step("pay", pay));
      // Steps that are not those of the definition: no sweep lets it go on before the resume.
      await app.database.execute(
        `insert into stoa.sagas (id, name, version, steps, input, status, parked_from, inflight, attempt, branches, lost, wake_at)
         values ($1, $1, 1, 'before', 'null', 'parked', 'running', '{pay}', 3, '{"pay": 3}', 2, 'infinity')`,
        [named],
      );
      await app.sagas.resume(named);
      await expect.poll(async () => (await app.sagas.get(named))?.status, { timeout: 25_000 }).toBe("compensated");
      expect(tried).toEqual([1, 2]);
    },
  );

  it("A saga runs its steps in order, gives results from step to step, and logs every transition", async () => {
    const keys: string[] = [];
    const checkout = app.saga(
      saga<{ order: number }>(name())
        .step("reserve", { action: ({ input, key }) => ({ key: keys.push(key), reservation: input.order * 2 }) })
        .step("pay", { action: ({ results, key }) => ({ key: keys.push(key), paid: results.reserve.reservation + 1 }) })
        .step("ship", { action: () => {} }),
    );
    const id = await checkout.start({ order: 7 });
    const run = await checkout.wait(id, patient);
    expect(run).toMatchObject({
      status: "completed",
      results: { reserve: { key: 1, reservation: 14 }, pay: { key: 2, paid: 15 }, ship: null },
    });
    expect(run!.results.pay.paid).toBe(15);
    expect(keys).toEqual([`${id}:reserve`, `${id}:pay`]);
    expect(await events(id)).toEqual([
      "started",
      "action started reserve",
      "action done reserve",
      "action started pay",
      "action done pay",
      "action started ship",
      "action done ship",
      "completed",
    ]);
  });

  it("A process drives as many sagas at the same time as concurrency says", async () => {
    const most = async (concurrency: number): Promise<number> => {
      const one = await start({ schema: `at_once_${concurrency}`, concurrency });
      let [running, seen] = [0, 0];
      const action = async (): Promise<void> => {
        seen = Math.max(seen, ++running);
        await new Promise((resolve) => setTimeout(resolve, 50));
        running--;
      };
      const handle = one.saga(saga<number>(name()).step("a", { action }));
      const ids = await Promise.all([1, 2, 3].map((input) => handle.start(input)));
      for (const id of ids) expect(await handle.wait(id, patient)).toMatchObject({ status: "completed" });
      return seen;
    };
    expect(await most(1)).toBe(1);
  });

  it("A failing step is tried again with the same key, then those before it are compensated, the newest first", async () => {
    const calls: string[] = [];
    const definition = saga<string>(name())
      .step("a", {
        action: () => "ra",
        compensate: ({ result, key }) => void calls.push(`undo a ${result} ${key.split(":").slice(1)}`),
      })
      .step("nothing", { action: () => {} })
      .step("b", { action: () => "rb", compensate: ({ result }) => void calls.push(`undo b ${result}`) })
      .step("c", {
        action: ({ attempt, key }) => {
          calls.push(`c ${attempt} ${key.split(":")[1]}`);
          throw new Error("no stock");
        },
        compensate: () => void calls.push("undo c"),
        retries: 2,
      });
    const handle = app.saga(definition);
    const id = await handle.start("x");
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated", error: "Error: no stock" });
    expect(calls).toEqual(["c 1 c", "c 2 c", "c 3 c", "undo b rb", "undo a ra a,compensate"]);
  });

  it("A refused step is not tried again", async () => {
    const action = vi.fn(() => {
      throw new StepRefused("card declined");
    });
    const handle = app.saga(saga(name()).step("pay", { action }));
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({
      status: "compensated",
      error: "StepRefused: card declined",
    });
    expect(action).toHaveBeenCalledTimes(1);
  });

  it("A step that recovers continues", async () => {
    let failures = 2;
    const handle = app.saga(
      saga(name()).step("flaky", {
        action: () => {
          if (failures-- > 0) throw new Error("not yet");
          return "done";
        },
      }),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed", error: null });
  });

  it("A step whose time is over has its signal aborted, and is compensated because its effect may be there", async () => {
    const calls: string[] = [];
    const handle = app.saga(
      saga(name()).step("slow", {
        timeout: "20ms",
        retries: 1,
        action: ({ signal, attempt }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve(calls.push(`aborted ${attempt}`)))),
        compensate: ({ result }) => void calls.push(`undo ${result}`),
      }),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
    expect(calls).toEqual(["aborted 1", "aborted 2", "undo undefined"]);
  });

  it("A step that cannot know if its effect is there is tried again, then compensated without a result", async () => {
    const calls: string[] = [];
    const handle = app.saga(
      saga(name())
        .step("before", { action: () => 1, compensate: () => void calls.push("undo before") })
        .step("pay", {
          retries: 2,
          action: ({ attempt, key }) => {
            calls.push(`pay ${attempt} ${key.split(":")[1]}`);
            // An attempt that knows that it had no effect says nothing about those before it.
            throw attempt === 2 ? new StepUnknown("no response", { cause: "ECONNRESET" }) : new Error("not sent");
          },
          compensate: ({ result }) => void calls.push(`undo ${result}`),
        }),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated", error: "Error: not sent" });
    expect(calls).toEqual(["pay 1 pay", "pay 2 pay", "pay 3 pay", "undo undefined", "undo before"]);
    const ends = (await app.sagas.log(id)).filter(({ step, event }) => step === "pay" && event.startsWith("action"));
    expect(ends.map(({ event }) => event).filter((event) => event !== "action started")).toEqual([
      "action failed",
      "action unknown",
      "action failed",
    ]);
  });

  it("A step whose last attempt has an unknown outcome is compensated, and one that then succeeds is not", async () => {
    const calls: string[] = [];
    const unsure = (failures: number) =>
      saga(name()).step("pay", {
        retries: 1,
        action: ({ attempt }) => {
          if (attempt <= failures) throw new StepUnknown("no response");
          return "paid";
        },
        compensate: ({ result }) => void calls.push(`undo ${result}`),
      });
    const lost = app.saga(unsure(2));
    const found = app.saga(unsure(1).step("ship", { action: () => Promise.reject(new StepRefused("no truck")) }));
    const good = app.saga(unsure(1));
    expect(await lost.wait(await lost.start(null), patient)).toMatchObject({
      status: "compensated",
      error: "StepUnknown: no response",
    });
    expect(calls.splice(0)).toEqual(["undo undefined"]);
    expect(await good.wait(await good.start(null), patient)).toMatchObject({ status: "completed" });
    expect(calls).toEqual([]);
    expect(await found.wait(await found.start(null), patient)).toMatchObject({ status: "compensated" });
    expect(calls).toEqual(["undo paid"]);
  });

  it("Sagas of a dead worker go on when their lease ends, however seldom a worker polls", async () => {
    const one = await start({ poll: "1h", lease: "500ms" });
    const handle = one.saga(saga(name()).step("a", { action: () => 1 }));
    const first = await handle.start(null);
    expect(await handle.wait(first, patient)).toMatchObject({ status: "completed" });
    const { name: kind } = (await one.sagas.get(first))!;
    await one.database.execute(
      `insert into stoa.sagas (id, name, version, input, owner, token, lease_until)
       values ($1, $1, 1, 'null', 'dead', 1, clock_timestamp() + interval '300 milliseconds')`,
      [kind],
    );
    expect(await handle.wait(kind, patient)).toMatchObject({ status: "completed" });
    await one.stop();
  });

  it("A saga whose time is over is compensated, with the step in progress", async () => {
    const undone: string[] = [];
    const handle = app.saga(
      saga(name(), { timeoutMs: 1500 })
        .step("quick", { action: () => 1, compensate: () => void undone.push("quick") })
        .step("endless", { action: () => new Promise(() => {}), compensate: () => void undone.push("endless") })
        .step("never", { action: () => void undone.push("never ran") }),
    );
    const id = await handle.start(null);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
    expect(undone).toEqual(["endless", "quick"]);
  });

  it("A step that ended after the time of the saga is the last one", async () => {
    const ran: string[] = [];
    const handle = app.saga(
      saga(name(), { timeoutMs: 700 })
        .step("blocks", {
          action: () => {
            ran.push("blocks");
            // No timer can end it.
            blockFor(800);
          },
          compensate: () => void ran.push("undone"),
        })
        .step("never", { action: () => void ran.push("never") }),
    );
    const run = await handle.wait(await handle.start(null), patient);
    expect(run).toMatchObject({ status: "compensated", error: "the time of the saga is over" });
    expect(ran).toEqual(["blocks", "undone"]);
  });

  it("A step that ends its process each time is not begun forever", async () => {
    const ran: string[] = [];
    const handle = app.saga(
      saga(name()).step("deadly", {
        retries: 1,
        action: () => void ran.push("again"),
        compensate: () => void ran.push("undone"),
      }),
    );
    // As seven workers leave it that have died in the step.
    const id = await app.database.transaction(async (tx) => {
      const started = await handle.start(null, { tx });
      await tx.execute(
        "update stoa.sagas set attempt = 7, lost = 6, inflight = '{deadly}', owner = 'dead' where id = $1",
        [started],
      );
      return started;
    });
    const run = await handle.wait(id, patient);
    expect(run).toMatchObject({ status: "compensated", error: "the step did not end" });
    expect(ran).toEqual(["undone"]);
  });

  it("Workers that died use up no retries of a step or a compensation that has not failed itself", async () => {
    const ran: (readonly [string, number])[] = [];
    const handle = app.saga(
      saga(name())
        .step("first", {
          action: ({ attempt }) => void ran.push(["first", attempt]),
          compensate({ attempt }) {
            ran.push(["undone", attempt]);
            throw new Error("not undone");
          },
          compensateRetries: 1,
        })
        .step("failing", {
          retries: 1,
          action({ attempt }) {
            ran.push(["failing", attempt]);
            throw new Error("no");
          },
        }),
    );
    const id = await app.database.transaction(async (tx) => {
      const started = await handle.start(null, { tx });
      // As five workers leave it that have died in the first step.
      await tx.execute(
        "update stoa.sagas set attempt = 5, lost = 4, inflight = '{first}', owner = 'dead' where id = $1",
        [started],
      );
      return started;
    });
    expect(await handle.wait(id, patient)).toMatchObject({ status: "parked", error: "Error: no" });
    const once = [
      ["undone", 1],
      ["undone", 2],
    ];
    expect(ran).toEqual([["first", 6], ["failing", 1], ["failing", 2], ...once]);
    // As five workers leave it that have died in the compensation.
    await app.database.execute(
      "update stoa.sagas set status = 'compensating', attempt = 5, lost = 4, inflight = '{first}', owner = 'dead', wake_at = now() where id = $1",
      [id],
    );
    await vi.waitFor(
      () =>
        expect(ran.slice(5)).toEqual([
          ["undone", 6],
          ["undone", 7],
        ]),
      { timeout: 60_000, interval: 10 },
    );
    await handle.wait(id, patient);
    await app.database.execute(
      "update stoa.sagas set status = 'compensating', attempt = 7, lost = 6, inflight = '{first}', owner = 'dead', wake_at = now() where id = $1",
      [id],
    );
    expect(await handle.wait(id, patient)).toMatchObject({ status: "parked" });
    expect((await app.sagas.log(id)).at(-1)).toMatchObject({ event: "parked", error: "the compensation did not end" });
    expect(ran).toHaveLength(7);
  });

  it("A worker that died between two attempts of a step is not counted as an attempt", async () => {
    const attempts: number[] = [];
    const handle = app.saga(
      saga(name()).step("failing", {
        retries: 2,
        action({ attempt }) {
          attempts.push(attempt);
          throw new Error("no");
        },
      }),
    );
    const id = await app.database.transaction(async (tx) => {
      const started = await handle.start(null, { tx });
      await tx.execute("update stoa.sagas set attempt = 1, owner = 'dead' where id = $1", [started]);
      return started;
    });
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
    expect(attempts).toEqual([2, 3]);
  });

  it("A failing compensation parks the saga, and a person resumes, skips or aborts it", async () => {
    let broken = true;
    const undone: string[] = [];
    const definition = saga(name())
      .step("a", { action: () => 1, compensate: () => void undone.push("a") })
      .step("b", {
        action: () => 1,
        compensate: () => {
          if (broken) throw new Error("service away");
          undone.push("b");
        },
        compensateRetries: 1,
      })
      .step("c", { action: () => Promise.reject(new StepRefused("no")) });
    const handle = app.saga(definition);
    const ids = [await handle.start(1), await handle.start(2), await handle.start(3)];
    for (const id of ids) expect(await handle.wait(id, patient)).toMatchObject({ status: "parked" });
    expect(undone).toEqual([]);
    expect((await app.sagas.list({ status: "parked", name: definition.name })).map(({ id }) => id).sort()).toEqual(
      [...ids].sort(),
    );
    await app.sagas.skip(ids[1]!);
    await app.sagas.abort(ids[2]!);
    expect(await handle.wait(ids[2]!, patient)).toMatchObject({ status: "aborted" });
    await vi.waitFor(async () => expect((await app.sagas.get(ids[1]!))!.status).toBe("compensated"), 20_000);
    expect(undone).toEqual(["a"]);
    broken = false;
    await app.sagas.resume(ids[0]!);
    await vi.waitFor(async () => expect((await app.sagas.get(ids[0]!))!.status).toBe("compensated"), 20_000);
    expect(undone).toEqual(["a", "b", "a"]);
    await expect(app.sagas.resume(ids[0]!)).rejects.toThrow("is compensated, not parked");
    await expect(app.sagas.skip("nobody")).rejects.toThrow('there is no saga with the id "nobody"');
  });

  it("An abort of a running saga ends the step in progress and compensates", async () => {
    const undone: string[] = [];
    const handle = app.saga(
      saga(name(), { timeoutMs: 0 })
        .step("a", { action: () => 1, compensate: () => void undone.push("a") })
        .step("waits", {
          action: () => new Promise(() => {}),
          compensate: ({ result }) => void undone.push(`waits ${result}`),
        }),
    );
    const id = await handle.start(null);
    await vi.waitFor(async () => expect(await events(id)).toContain("action started waits"), 20_000);
    await app.sagas.abort(id);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated" });
    expect(undone).toEqual(["waits undefined", "a"]);
  });

  it("The same id started three times is one run, and another input is refused", async () => {
    const action = vi.fn(() => 1);
    const handle = app.saga(saga<object>(name()).step("once", { action }));
    const id = `order-${randomUUID()}`;
    const ids = await Promise.all([1, 2, 3].map(() => handle.start({ a: 1, b: [2] }, { id })));
    expect(ids).toEqual([id, id, id]);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed" });
    expect(action).toHaveBeenCalledTimes(1);
    await expect(handle.start({ a: 2 }, { id })).rejects.toThrow("already, with another name or input");
    await expect(handle.start({ a: 2 }, { id })).rejects.toMatchObject({ status: 409 });
  });

  it("A saga that is started in a transaction begins when that is committed, or not at all", async () => {
    const handle = app.saga(saga(name()).step("a", { action: () => 1 }));
    let id = "";
    await app.database.transaction(async () => {
      id = await handle.start(null);
    });
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed" });
    await expect(
      app.database.transaction(async (tx) => {
        id = await handle.start(null, { tx });
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await app.sagas.get(id)).toBeNull();
  });

  it("The input is checked by its schema", async () => {
    const definition = saga(name(), { input: z.object({ order: z.number() }) }).step("a", {
      action: ({ input }) => input.order + 1,
    });
    const handle = app.saga(definition);
    await expect(handle.start({ order: "x" } as never)).rejects.toMatchObject({
      status: 422,
      issues: [{ loc: ["input", "order"] }],
    });
    const run = await handle.wait(await handle.start({ order: 1 }), patient);
    expect(run!.results.a).toBe(2);
  });

  it("A result that JSON cannot hold compensates the step", async () => {
    const undo = vi.fn();
    const handle = app.saga(saga(name()).step("a", { action: () => 1n, compensate: undo }));
    const id = await handle.start(null);
    const error = "the result of the step 'a' is not a JSON value";
    expect(await handle.wait(id, patient)).toMatchObject({ status: "compensated", error });
    expect(undo).toHaveBeenCalledTimes(1);
  });

  it("Versions of a definition run side by side: each execution keeps its own", async () => {
    const named = name();
    const versions = [1, 2].map((version) => app.saga(saga(named, { version }).step("a", { action: () => version })));
    const ids = await Promise.all(versions.map((handle) => handle.start(null)));
    const runs = await Promise.all(ids.map((id, index) => versions[index]!.wait(id, patient)));
    expect(runs.map((run) => [run!.version, run!.results.a])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it("Finished sagas are deleted by age and by number", async () => {
    const handle = app.saga(saga(name()).step("a", { action: () => 1 }));
    const ids = [await handle.start(1), await handle.start(2), await handle.start(3)];
    for (const id of ids) await handle.wait(id, patient);
    const sweep = async (options: SagaOptions) => {
      const storage = new SagaStorage(app.database, "stoa", "x", 1000);
      await new Sweeper(storage, new SagaConfig(options), quiet, () => []).sweep();
    };
    const count = () => app.database.fetchval<number>("select count(*) from stoa.sagas where finished_at is not null");
    await sweep({ retention: "1d", retentionCount: 2 });
    expect(await count()).toBe(2);
    await app.database.execute("update stoa.sagas set finished_at = finished_at - interval '2 days' where id = $1", [
      ids[2],
    ]);
    await sweep({ retention: "1d", retentionCount: 100 });
    expect(await app.sagas.get(ids[2]!)).toBeNull();
    expect(await app.sagas.log(ids[2]!)).toEqual([]);
  });

  it("A start with the id of a saga that was deleted begins nothing while its id is kept", async () => {
    const action = vi.fn(() => 1);
    const handle = app.saga(saga(name()).step("a", { action }));
    const id = `kept ${name()}`;
    await handle.start({ b: 1, a: 2 }, { id });
    const other = await handle.start(1);
    await handle.wait(id, patient);
    await handle.wait(other, patient);
    const sweep = async (keepIds: number) => {
      const storage = new SagaStorage(app.database, "stoa", "x", 1000);
      await new Sweeper(storage, new SagaConfig({ retentionCount: 0, keepIds }), quiet, () => []).sweep();
    };
    await sweep(3600);
    expect(await app.sagas.get(id)).toBeNull();
    expect(await app.database.fetchval("select count(*) from stoa.saga_ids where id in ($1, $2)", [id, other])).toBe(1);
    expect(await handle.start({ a: 2, b: 1 }, { id })).toBe(id);
    await app.database.transaction((tx) => handle.start({ a: 2, b: 1 }, { id, tx }));
    expect(await app.sagas.get(id)).toBeNull();
    await expect(handle.start({ a: 3 }, { id })).rejects.toMatchObject({ code: "CONFLICT" });
    await app.database.execute(
      "update stoa.saga_ids set until = clock_timestamp() - interval '1 second' where id = $1",
      [id],
    );
    await sweep(0);
    await handle.start({ a: 3 }, { id });
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed" });
    expect(action).toHaveBeenCalledTimes(3);
  });

  it.runIf(engine.name === "postgres")(
    "A transaction that began before a saga was started and deleted does not start its id a second time",
    async () => {
      const action = vi.fn(() => 1);
      const handle = app.saga(saga(name()).step("a", { action }));
      const [id, fresh] = [`kept ${name()}`, `fresh ${name()}`];
      const again = app.database.transaction(
        async (tx) => {
          await tx.fetchval("select count(*) from stoa.sagas");
          await handle.start(1, { id, tx: app.database });
          await handle.wait(id, patient);
          const storage = new SagaStorage(app.database, "stoa", "x", 1000);
          await new Sweeper(storage, new SagaConfig({ retentionCount: 0 }), quiet, () => []).sweep();
          await handle.start(1, { id, tx });
        },
        { isolation: "repeatable read" },
      );
      await expect(again).rejects.toMatchObject({ sqlstate: "40001" });
      expect(await app.sagas.get(id)).toBeNull();
      await app.database.transaction((tx) => handle.start(1, { id: fresh, tx }), { isolation: "serializable" });
      expect(await handle.wait(fresh, patient)).toMatchObject({ status: "completed" });
      expect(action).toHaveBeenCalledTimes(2);
    },
  );

  it("Wrong definitions are refused with a message", async () => {
    const step = { action: () => 1 };
    expect(() => saga("")).toThrow("the name of a saga");
    expect(() => saga("a", { versio: 2 } as never)).toThrow("did you mean 'version'?");
    expect(() => saga("a").step("", step)).toThrow("the name of a step");
    expect(() => saga("a").step("b", {} as never)).toThrow("option 'action' is required in step \"b\"");
    expect(() => saga("a").step("b", { ...step, retrie: 1 } as never)).toThrow("did you mean 'retries'?");
    expect(() => saga("a").step("b", step).step("b", step)).toThrow('two steps have the name "b"');
    for (const other of [null, 42, {}, { name: "a", steps: [step] }]) {
      expect(() => new App().saga(other as never)).toThrow("app.saga() takes a definition made by saga()");
    }
    expect(() => app.saga(saga("a"))).toThrow("has no steps");
    const handle = app.saga(saga(name()).step("a", step));
    await expect(handle.start(1n)).rejects.toThrow("cannot be written as JSON");
    await expect(handle.start(1, { id: "" })).rejects.toThrow("option 'id' in start()");
    await expect(handle.start(1, { ids: "1" } as never)).rejects.toThrow("unknown option 'ids' in start()");
    const plain = new App();
    expect(() => plain.sagas).toThrow("app.sagas needs app.enableSaga()");
    plain.enableSaga();
    await expect(plain.start()).rejects.toThrow("enableSaga() needs app.enableDatabase()");
  });
});
