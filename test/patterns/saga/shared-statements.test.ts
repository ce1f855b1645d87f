import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import type { Leased } from "../../../src/durable/leased-worker.js";
import { JobStorage } from "../../../src/patterns/jobs/storage.js";
import { SagaConfig } from "../../../src/patterns/saga/config.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import type { SagaRow } from "../../../src/patterns/saga/row.js";
import { DriverReplaced, SagaStorage } from "../../../src/patterns/saga/storage.js";
import { Sweeper } from "../../../src/patterns/saga/sweeper.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const patient = { timeoutMs: 25_000 };

describe.each(engines(server))("statements that sagas and jobs share in $name", (engine) => {
  let drop: () => Promise<void>;
  let app: App;
  beforeAll(async () => {
    const made = await engine.make();
    drop = made.drop;
    app = new App();
    app.logger = quiet;
    app
      .enableDatabase({ url: made.url, poolSize: 5 })
      .enableSaga({ backoff: "1ms", poll: "50ms", unknownVersion: "400ms" });
    app.job("unused", {}, () => {});
    await app.start();
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });
  const name = (): string => `s${randomUUID().slice(0, 8)}`;

  it("A driver that was replaced changes nothing, also if its change shares a statement with that of the new one", async () => {
    const storage = new SagaStorage(app.database, "stoa", "me", 60_000);
    const known = { name: name(), version: 1, steps: "step a" };
    const ids = Array.from({ length: 8 }, () => randomUUID());
    for (const id of ids) await storage.insert({ ...known, id, input: "null", timeoutMs: 0 }, app.database);
    const older = await storage.claim([known], ids.length);
    await app.database.execute("update stoa.sagas set lease_until = '-infinity' where name = $1", [known.name]);
    const newer = await storage.claim([known], ids.length);
    expect(newer).toHaveLength(ids.length);
    const change = (row: SagaRow, event: string) => storage.transition(row, [{ event, logStep: event, step: 7 }]);
    const settled = await Promise.allSettled([
      ...older.map((row) => change(row, "older")),
      ...newer.map((row) => change(row, "newer")),
      ...older.map((row) => change(row, "older again")),
    ]);
    const reasons = settled.map((one) => (one.status === "rejected" ? one.reason : one.value.token));
    for (const reason of [...reasons.slice(0, 8), ...reasons.slice(16)]) expect(reason).toBeInstanceOf(DriverReplaced);
    expect(reasons.slice(8, 16)).toEqual(newer.map(({ token }) => token));
    for (const id of ids) {
      const log = await app.database.fetch<{ event: string; token: number }>(
        "select event, token from stoa.saga_log where saga_id = $1 order by number",
        [id],
      );
      expect(log).toEqual([
        { event: "started", token: 0 },
        { event: "newer", token: 2 },
      ]);
    }
  });

  it("A job that another worker has is not settled by the older one, also if both are settled in one statement", async () => {
    const storage = new JobStorage(app.database, "stoa", "me", 60_000);
    const job = name();
    await storage.insert({ name: job, key: null, value: "null", delay: 0, priority: 0 }, app.database);
    const [older] = await storage.claim(job, 1);
    await app.database.execute("update stoa.jobs set lease_until = '-infinity' where name = $1", [job]);
    const [newer] = await storage.claim(job, 1);
    const settled = await Promise.all([
      storage.settle(older!, { status: "failed", error: "late" }),
      storage.settle(newer!, { status: "done", error: null }),
    ]);
    expect(settled).toEqual([false, true]);
    expect(await app.jobs.get(newer!.id)).toMatchObject({ status: "done", error: null });
  });

  it("A job that was done by a worker without its lease is done, and a failure there changes nothing", async () => {
    const storage = new JobStorage(app.database, "stoa", "me", 60_000);
    const job = name();
    const added = { name: job, key: null, value: "null", delay: 0, priority: 0 };
    const ids = await Promise.all([storage.add(added), storage.add(added)]);
    const older = await storage.claim(job, 2);
    await app.database.execute("update stoa.jobs set lease_until = '-infinity' where id = $1", [ids[0]]);
    const [newer] = await storage.claim(job, 2);
    expect(newer!.id).toBe(ids[0]);
    const finish = (one: Leased) => new Promise<boolean>((resolve, reject) => storage.finish(one, resolve, reject));
    const stale = older.find(({ id }) => id === ids[0])!;
    const other = older.find(({ id }) => id === ids[1])!;
    // The newer worker is at it, and may end well.
    expect(await storage.settle(stale, { status: "failed", error: "no" })).toBe(false);
    expect(await storage.settle(stale, { status: "waiting", error: "no", retryAfter: 0 })).toBe(false);
    expect(await app.jobs.get(ids[0])).toMatchObject({ status: "waiting", running: true, error: null });
    expect(await Promise.all([finish(stale), finish(other)])).toEqual([true, true]);
    expect((await Promise.all(ids.map((id) => app.jobs.get(id)))).map((one) => one?.status)).toEqual(["done", "done"]);
    // The newer worker learns with its next renewal that there is nothing left to do.
    expect((await storage.renew([newer!])).size).toBe(0);
    expect(await storage.settle(newer!, { status: "failed", error: "late" })).toBe(false);
    expect(await app.jobs.get(ids[0])).toMatchObject({ status: "done", error: null });
  });

  it("A saga sleeps until the last date there is, and one whose date is over continues", async () => {
    const long = app.saga(saga(name()).sleep("for-ever", () => new Date(8.64e15)));
    const over = app.saga(saga(name()).sleep("over", () => new Date(-8.64e15)));
    const [sleeping, ended] = await Promise.all([long.start(null), over.start(null)]);
    expect(await over.wait(ended, patient)).toMatchObject({ status: "completed" });
    await vi.waitFor(async () => expect((await app.sagas.get(sleeping))!.status).toBe("waiting"), 20_000);
    expect((await app.sagas.get(sleeping))!.wakeAt).toEqual(new Date(8.64e15));
  });

  it("A job with a value that the database refuses fails alone", async () => {
    const storage = new JobStorage(app.database, "stoa", "me", 60_000);
    const job = name();
    const add = (value: string) => storage.add({ name: job, key: null, value, delay: 0, priority: 0 });
    const settled = await Promise.allSettled([add("1"), add('"\\u0000"'), add("2")]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await app.jobs.list({ name: job })).map(({ value }) => value)).toEqual([2, 1]);
  });

  it("A saga with the id of a child that another one will have is not taken for its child", async () => {
    const undone: string[] = [];
    const foreign = app.saga(saga(name()).step("a", { action: () => "foreign", compensate: () => undone.push("f") }));
    const child = saga(name()).step("a", { action: () => "child" });
    const parent = app.saga(
      saga(name())
        .step("before", { action: () => 1, compensate: () => undone.push("before") })
        .child("shipping", child, null),
    );
    const id = randomUUID();
    await foreign.start(null, { id: `${id}/shipping` });
    await foreign.wait(`${id}/shipping`, patient);
    await parent.start(null, { id });
    const run = await parent.wait(id, patient);
    expect(run).toMatchObject({ status: "compensated", error: expect.stringContaining("another saga has the id") });
    expect(undone).toEqual(["before"]);
    expect(await app.sagas.get(`${id}/shipping`)).toMatchObject({ status: "completed" });
  });

  it("A saga that was parked while its workers were busy goes on by itself, as they know its version", async () => {
    const known = name();
    const one = app.saga(saga(known, { version: 1 }).waitFor("go"));
    const id = await one.start(null);
    await vi.waitFor(async () => expect((await app.sagas.get(id))!.status).toBe("waiting"), 20_000);
    // A worker of a newer program, which knows only version 2, has found it due for too long. The name hides it meanwhile.
    const hidden = `${known} hidden`;
    const text =
      "update stoa.sagas set name = $2, wake_at = now() - interval '1 hour', lease_until = '-infinity' where id = $1";
    await app.database.execute(text, [id, hidden]);
    const storage = new SagaStorage(app.database, "stoa", "other", 1000);
    const config = new SagaConfig({ unknownVersion: "100ms" });
    expect(await new Sweeper(storage, config, quiet, () => [{ name: hidden, version: 2, steps: "" }]).park()).toBe(1);
    await app.database.execute("update stoa.sagas set name = $2 where id = $1", [id, known]);
    await vi.waitFor(async () => expect((await app.sagas.get(id))!.status).toBe("waiting"), 20_000);
    await app.sagas.signal(id, "go");
    expect(await one.wait(id, patient)).toMatchObject({ status: "completed" });
  });
});
