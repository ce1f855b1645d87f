import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import { StepRefused } from "../../../src/patterns/saga/steps.js";
import { signal } from "../../../src/patterns/saga/waits.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const patient = { timeoutMs: 150_000 };

describe.each(engines(server))("sagas that run other sagas in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  let app: App;
  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = new App();
    app.logger = quiet;
    app.enableDatabase({ url, poolSize: 5 }).enableSaga({ backoff: "1ms", poll: "50ms" });
    await app.start();
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });
  const name = (): string => `c${randomUUID().slice(0, 8)}`;
  const ended = async (id: string) => {
    const found = await app.sagas.get(id);
    return [found?.status, found?.error];
  };
  const status = (id: string, wanted: string) =>
    vi.waitFor(async () => expect((await app.sagas.get(id))?.status).toBe(wanted), { timeout: 150_000, interval: 20 });

  const card = saga<{ amount: number }>(name()).step("receipt", { action: ({ input }) => `card ${input.amount}` });
  const invoice = saga("invoice", { input: z.object({ address: z.string() }) }).step("number", {
    action: ({ input }) => `to ${input.address}`,
  });
  const paying = saga<{ methods: { card?: number; invoice?: string } }>(name())
    .choose("payment", { card, invoice }, ({ input: { methods } }) => ({
      ...(methods.card !== undefined && { card: { amount: methods.card } }),
      ...(methods.invoice !== undefined && { invoice: { address: methods.invoice } }),
    }))
    .step("tell", {
      action: ({ results: { payment } }) => [payment.card?.receipt ?? null, payment.invoice?.number ?? null],
    });

  it.each([
    [{ card: 5 }, ["card 5", null]],
    [{ invoice: "here" }, [null, "to here"]],
    [{ card: 5, invoice: "there" }, ["card 5", "to there"]],
    [{}, [null, null]],
  ])("A branch runs the sagas that were chosen: %j", async (methods, told) => {
    const handle = app.saga(paying);
    const id = await handle.start({ methods });
    expect((await handle.wait(id, patient))!.results.tell).toEqual(told);
    expect((await app.sagas.children(id)).map((child) => child.id).sort()).toEqual(
      Object.keys(methods).map((key) => `${id}/payment/${key}`),
    );
  });

  it.each([
    ["a name that it does not have", { cash: {} }, 'has no saga "cash"'],
    ["no object", "card", "takes inputs by name"],
    ["an input that its schema refuses", { invoice: { address: 5 } }, "address"],
  ])("A branch that was chosen by %s fails, and steps before it are undone", async (_what, chosen, message) => {
    const undone: string[] = [];
    const handle = app.saga(
      saga(name())
        .step("before", { action: () => 1, compensate: ({ sagaId }) => undone.push(sagaId) })
        .choose("payment", { card, invoice }, () => chosen as never),
    );
    const id = await handle.start({});
    await handle.wait(id, patient);
    expect(await ended(id)).toEqual(["compensated", expect.stringContaining(message)]);
    expect(undone).toEqual([id]);
    expect(await app.sagas.children(id)).toEqual([]);
  });

  it("A list of inputs begins a saga for each, whose results are in their order", async () => {
    const parcel = saga<number>(name()).step("sent", { action: ({ input }) => input * 2 });
    const handle = app.saga(
      saga<number>(name())
        .each("parcels", parcel, ({ input }) => Array.from({ length: input }, (_, n) => n))
        .step("sum", { action: ({ results }) => results.parcels.reduce((sum, { sent }) => sum + sent, 0) }),
    );
    const [many, none] = [await handle.start(25), await handle.start(0)];
    const found = (await handle.wait(many, patient))!;
    expect(found.results.parcels.map(({ sent }) => sent)).toEqual(Array.from({ length: 25 }, (_, n) => n * 2));
    expect(found.results.sum).toBe(600);
    expect((await handle.wait(none, patient))!.results).toEqual({ parcels: [], sum: 0 });
  });

  it("A saga for an input that fails has the others of its list undone, and the saga that began them", async () => {
    const undone: string[] = [];
    const release = signal("release");
    const parcel = saga<string>(name())
      .step("send", { action: () => 1, compensate: ({ input }) => undone.push(input) })
      .step("check", {
        action: ({ input }) => {
          if (input === "bad") throw new StepRefused("broken");
        },
      })
      .waitFor("released", { signal: release });
    const handle = app.saga(
      saga<string[]>(name())
        .step("before", { action: () => 1, compensate: () => undone.push("before") })
        .each("parcels", parcel, ({ input }) => input),
    );
    const id = await handle.start(["a", "b", "bad"]);
    await handle.wait(id, patient);
    expect(await ended(id)).toEqual(["compensated", expect.stringContaining("broken")]);
    expect([...undone].sort()).toEqual(["a", "b", "bad", "before"]);
    expect(undone.at(-1)).toBe("before");
    expect((await app.sagas.children(id)).map((child) => child.status)).toEqual(Array(3).fill("compensated"));
  });

  it("Sagas of a list that were completed are undone when a later step fails", async () => {
    const undone: number[] = [];
    const parcel = saga<number>(name()).step("send", {
      action: () => 1,
      compensate: ({ input }) => undone.push(input),
    });
    const handle = app.saga(
      saga(name())
        .each("parcels", parcel, [1, 2, 3])
        .step("fails", {
          action: () => {
            throw new StepRefused("late");
          },
        }),
    );
    const id = await handle.start({});
    await handle.wait(id, patient);
    expect(await ended(id)).toEqual(["compensated", expect.stringContaining("late")]);
    expect(undone.sort()).toEqual([1, 2, 3]);
  });

  it.each([
    ["no list", () => "abc", "takes a list"],
    ["too many", () => Array(1001).fill(1), "1001 of them"],
  ])("Inputs that are %s fail the saga", async (_what, inputs, message) => {
    const parcel = saga<number>(name()).step("send", { action: () => 1 });
    const handle = app.saga(saga(name()).each("parcels", parcel, inputs as never));
    const id = await handle.start({});
    await handle.wait(id, patient);
    expect(await ended(id)).toEqual(["compensated", expect.stringContaining(message)]);
  });

  it("A loop runs a saga until it is content, and has its rounds undone, the newest first", async () => {
    const undone: unknown[] = [];
    const ask = saga<{ round: number; before: number | null }>(name()).step("answer", {
      action: ({ input }) => input.round * 10 + (input.before ?? 0),
      compensate: ({ input }) => undone.push(input.round),
    });
    const define = (fails: boolean) =>
      saga<number>(name())
        .repeat("asked", ask, {
          input: ({ round, last }) => ({ round, before: last?.answer ?? null }),
          until: ({ last, round, input }) => last.answer >= input && round > 1,
        })
        .step("end", {
          action: ({ results }) => {
            if (fails) throw new StepRefused("after the loop");
            return results.asked.answer;
          },
        });
    const [good, bad] = [app.saga(define(false)), app.saga(define(true))];
    const id = await good.start(60);
    expect((await good.wait(id, patient))!.results).toEqual({ asked: { answer: 60 }, end: 60 });
    expect((await app.sagas.children(id)).map((child) => child.id)).toEqual([1, 2, 3].map((n) => `${id}/asked/${n}`));
    const failing = await bad.start(60);
    await bad.wait(failing, patient);
    expect(await ended(failing)).toEqual(["compensated", expect.stringContaining("after the loop")]);
    expect(undone).toEqual([3, 2, 1]);
  });

  it("A loop without an end fails after its limit, and a condition that throws fails it too", async () => {
    const undone: number[] = [];
    const ask = saga<number>(name()).step("answer", { action: () => 1, compensate: ({ input }) => undone.push(input) });
    const endless = app.saga(
      saga(name()).repeat("asked", ask, { input: ({ round }) => round, until: () => false, limit: 3 }),
    );
    const throwing = app.saga(
      saga(name()).repeat("asked", ask, {
        input: ({ round }) => round,
        until: () => {
          throw new Error("no condition");
        },
      }),
    );
    const [first, second] = [await endless.start({}), await throwing.start({})];
    await endless.wait(first, patient);
    await throwing.wait(second, patient);
    expect(await ended(first)).toEqual(["compensated", expect.stringContaining("has not ended after 3 rounds")]);
    expect(await ended(second)).toEqual(["compensated", expect.stringContaining("no condition")]);
    expect(undone.sort()).toEqual([1, 1, 2, 3]);
  });

  it("An abort of the saga that waits for a list has its sagas undone", async () => {
    const release = signal("release");
    const undone: number[] = [];
    const parcel = saga<number>(name())
      .step("send", {
        action: () => 1,
        compensate: async ({ input }) => {
          await new Promise((resolve) => setTimeout(resolve, 300));
          undone.push(input);
        },
      })
      .waitFor("released", { signal: release });
    const handle = app.saga(saga(name()).each("parcels", parcel, [1, 2]));
    const id = await handle.start({});
    for (const number of [1, 2]) await status(`${id}/parcels/${number}`, "waiting");
    expect(await app.sagas.signal(`${id}/parcels/1`, release)).toBe(true);
    await status(`${id}/parcels/1`, "completed");
    expect((await app.sagas.get(id))!.status).toBe("waiting");
    await app.sagas.abort(id);
    await handle.wait(id, patient);
    expect((await ended(id))[0]).toBe("compensated");
    expect(undone.sort()).toEqual([1, 2]);
    // It is woken when a child has ended, and not all the time.
    const waits = (await app.sagas.log(id)).filter(({ event }) => event === "compensation waits");
    expect(waits.length).toBeLessThan(4);
  });

  it.runIf(engine.name === "postgres")("Sagas of a list are locked in the order that all statements use", async () => {
    const release = signal("release");
    const parcel = saga<number>(name()).waitFor("released", { signal: release });
    const handle = app.saga(saga(name()).each("parcels", parcel, [1, 2, 3]));
    const id = await handle.start({});
    for (const number of [1, 2, 3]) await status(`${id}/parcels/${number}`, "waiting");
    const lock = "select from stoa.sagas where id = $1 for update nowait";
    await app.database.transaction(async (tx) => {
      await tx.execute(lock, [`${id}/parcels/3`]);
      const holder = await tx.fetchval<number>("select pg_backend_pid()");
      await app.sagas.abort(id);
      const waits = "select count(*)::int from pg_stat_activity where $1::int = any (pg_blocking_pids(pid))";
      await vi.waitFor(async () => expect(await app.database.fetchval(waits, [holder])).toBe(1), {
        timeout: 150_000,
        interval: 20,
      });
      // The last one is the first to be locked: whoever has it can lock the others.
      await tx.execute(lock, [`${id}/parcels/1`]);
    });
    expect((await handle.wait(id, patient))?.status).toBe("compensated");
  });

  it("A saga whose id another one has fails the list, and that other one is left as it is", async () => {
    const undone: number[] = [];
    const parcel = saga<number>(name()).step("send", {
      action: () => 1,
      compensate: ({ input }) => undone.push(input),
    });
    const [own, handle] = [app.saga(parcel), app.saga(saga(name()).each("parcels", parcel, [1, 2, 3]))];
    const id = `with/${name()}`;
    await own.start(7, { id: `${id}/parcels/2` });
    await handle.start({}, { id });
    await handle.wait(id, patient);
    expect(await ended(id)).toEqual(["compensated", `another saga has the id ${id}/parcels/2`]);
    expect((await own.wait(`${id}/parcels/2`, patient))!.status).toBe("completed");
    expect(undone.every((input) => input !== 7)).toBe(true);
    expect((await app.sagas.children(id)).map((child) => child.status)).toEqual(["compensated", "compensated"]);
  });

  it("Lists in the sagas of a list complete, also with slashes in the id", async () => {
    const leaf = saga<number>(name()).step("x", { action: ({ input }) => input });
    const branch = saga<number>(name()).each("leaves", leaf, ({ input }) => [input, input + 1]);
    const handle = app.saga(saga(name()).each("branches", branch, [1, 2]));
    const id = await handle.start({}, { id: `${name()}/branches/1//` });
    const { results } = (await handle.wait(id, patient))!;
    expect(results.branches.map(({ leaves }) => leaves.map(({ x }) => x))).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it("A part that becomes another form is another definition", () => {
    const begin = saga("forms");
    const forms = [
      begin.child("x", card, { amount: 1 }),
      begin.choose("x", { card }, () => ({})),
      begin.each("x", card, []),
      begin.repeat("x", card, { input: () => ({ amount: 1 }), until: () => true }),
    ];
    expect(new Set(forms.map(({ steps }) => steps)).size).toBe(4);
  });

  it("Definitions of children are checked when they are declared", () => {
    const empty = saga(name());
    expect(() => saga(name()).choose("x", {}, () => ({}))).toThrow("takes an object of sagas, by name");
    expect(() => saga(name()).each("x", {} as never, [])).toThrow("takes a definition made by saga()");
    expect(() => saga(name()).each("x", empty, [])).toThrow("has no steps");
    expect(() => saga(name()).repeat("x", card, { input: () => ({ amount: 1 }) } as never)).toThrow("until");
  });

  it("Executions are found by the attributes that their definition takes from the input", async () => {
    const define = (attributes: (input: { customer: string; total: number }) => Record<string, never>) =>
      saga<{ customer: string; total: number }>(name(), { attributes }).step("x", { action: () => 1 });
    const handle = app.saga(define(({ customer, total }) => ({ customer, large: total > 10 }) as never));
    const [a, b, c] = [
      await handle.start({ customer: "ada", total: 5 }),
      await handle.start({ customer: "ada", total: 50 }),
      await handle.start({ customer: "eve", total: 50 }),
    ];
    const found = async (attributes: Record<string, string | boolean>) =>
      (await app.sagas.list({ attributes })).map(({ id }) => id).sort();
    expect(await found({ customer: "ada" })).toEqual([a, b].sort());
    expect(await found({ large: true })).toEqual([b, c].sort());
    expect(await found({ customer: "eve", large: true })).toEqual([c]);
    expect(await found({ customer: "ad" })).toEqual([]);
    expect((await app.sagas.get(c))!.attributes).toEqual({ customer: "eve", large: true });
    await expect(app.sagas.list({ attributes: { a: {} } as never })).rejects.toThrow("attributes");
    for (const wrong of [null, { a: Number.NaN }, { a: "x".repeat(501) }, { a: "\0" }, { a: [] }]) {
      const refused = app.saga(define(() => wrong as never));
      await expect(refused.start({ customer: "x", total: 1 })).rejects.toThrow("the attributes of the saga");
    }
  });
});
