import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { EventSourcingConfig } from "../../../src/patterns/events/config.js";
import { AggregateNotFound, StreamArchivedError } from "../../../src/patterns/events/errors.js";
import { service } from "../../support/service.js";
import { Order } from "./order.js";
import { makePlace, type Place, storeKinds } from "./stores.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 10 };
const added = (n: number) => ({ type: "Added", data: n });

describe.each(storeKinds(server))("the archive in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start({ snapshotInterval: 5 });
  });
  afterAll(() => place.drop());

  it("An archived stream is closed, is read on request only, and can be restored", async () => {
    const { eventStore } = app;
    await eventStore.append("doc-1", [added(1), added(2)]);
    await eventStore.append("doc-2", added(3));
    expect(await eventStore.archive("doc-1")).toBe(2);
    expect(await eventStore.read("doc-1")).toEqual([]);
    expect(await eventStore.streamVersion("doc-1")).toBe(0);
    expect((await eventStore.readCategory("doc")).map(({ data }) => data)).toEqual([3]);
    expect((await eventStore.read("doc-1", { archived: true })).map(({ data }) => data)).toEqual([1, 2]);
    const backwards = await eventStore.readCategory("doc", { archived: true, backwards: true });
    expect(backwards.map(({ data }) => data)).toEqual([3, 2, 1]);
    for (const expectedVersion of ["any", "none", "exists", 2] as const) {
      const append = eventStore.append("doc-1", added(9), { expectedVersion });
      await expect(append).rejects.toThrow(StreamArchivedError);
    }
    await expect(eventStore.append("doc-1", [added(9), added(9)])).rejects.toThrow(StreamArchivedError);
    expect(await eventStore.archive("doc-1")).toBe(0);

    expect(await eventStore.restore("doc-1")).toBe(2);
    expect((await eventStore.append("doc-1", added(4), { expectedVersion: 2 })).version).toBe(3);
    expect((await eventStore.read("doc-1")).map(({ data }) => data)).toEqual([1, 2, 4]);
  });

  it("A subscription that begins later receives the events of archived streams, in their place", async () => {
    const { eventStore } = app;
    await eventStore.append("late-1", added(1));
    await eventStore.append("late-2", added(2));
    await eventStore.append("late-1", added(3));
    await eventStore.archive("late-1");
    const seen: unknown[] = [];
    await using _running = eventStore.subscribe({ name: "late", categories: ["late"] }, ({ data }) => seen.push(data));
    await vi.waitFor(() => expect(seen).toEqual([1, 2, 3]), patient);
  });

  it("Streams that are closed or old are archived by their policy, and others stay", async () => {
    const own = await makePlace(kind, server);
    try {
      const policies = [
        { category: "task", after: 0, closedBy: ["Done"] },
        { category: "visit", after: "365d" as const },
      ];
      const other = await own.start({ archive: policies });
      await other.eventStore.append("task-1", [added(1), { type: "Done", data: null }]);
      await other.eventStore.append("task-2", added(1));
      await other.eventStore.append("task-3", [{ type: "Done", data: null }, added(1)]);
      await other.eventStore.append("visit-1", added(1));
      // A time of the database's clock must pass.
      await vi.waitFor(async () => {
        await other.eventStore.applyArchivePolicies();
        expect(await other.eventStore.read("task-1")).toEqual([]);
      }, patient);
      expect((await other.eventStore.readAll()).map(({ stream }) => stream)).toEqual([
        "task-2",
        "task-3",
        "task-3",
        "visit-1",
      ]);
      expect(await other.eventStore.applyArchivePolicies()).toBe(0);
    } finally {
      await own.drop();
    }
  });

  it("A stream is truncated up to its snapshot, and loads as before", async () => {
    const { eventStore } = app;
    const orders = eventStore.repository(Order);
    for (let n = 1; n <= 6; n++) {
      await orders.update("long", (order) => order.add(`s${n}`, n), { create: true });
      // Two events are not stored in one millisecond.
      const { recordedAt } = (await eventStore.read("order-long")).at(-1)!;
      if (n === 3) await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(recordedAt.getTime() + 1), patient);
    }
    const third = (await eventStore.read("order-long"))[2]!.recordedAt;
    await vi.waitFor(async () => expect(await eventStore.storage.loadSnapshot("order-long")).not.toBeNull(), patient);
    await expect(eventStore.truncateBefore("order-long", 6)).rejects.toThrow(
      "the snapshot of the stream is of version 5",
    );
    expect(await eventStore.truncateBefore("order-long", 5)).toBe(4);
    expect((await eventStore.read("order-long")).map(({ version }) => version)).toEqual([5, 6]);
    expect(await orders.load("long")).toMatchObject({ total: 21, version: 6 });
    expect(await orders.load("long", { version: 3 })).toMatchObject({ total: 6, version: 3 });
    expect(await orders.load("long", { at: third })).toMatchObject({ total: 6, version: 3 });
    await orders.update("long", (order) => order.add("s7", 7));
    // Without the snapshot the archive is read.
    await eventStore.storage.forbidSnapshots(["order-long"]);
    expect(await orders.load("long")).toMatchObject({ total: 28, version: 7 });
    expect((await eventStore.read("order-long", { archived: true })).length).toBe(7);
  });

  it("Events that were truncated for good are gone, and an aggregate that needs them is an error", async () => {
    const { eventStore } = app;
    const orders = eventStore.repository(Order);
    for (let n = 1; n <= 5; n++) await orders.update("gone", (order) => order.add("s", n), { create: true });
    await vi.waitFor(async () => expect(await eventStore.storage.loadSnapshot("order-gone")).not.toBeNull(), patient);
    expect(await eventStore.truncateBefore("order-gone", 5, { archive: false })).toBe(4);
    expect((await eventStore.read("order-gone", { archived: true })).length).toBe(1);
    expect(await orders.load("gone")).toMatchObject({ total: 15 });
    await eventStore.storage.forbidSnapshots(["order-gone"]);
    await expect(orders.load("gone")).rejects.toThrow("has no event 1");
  });

  it("An aggregate in the archive is not found", async () => {
    const orders = app.eventStore.repository(Order);
    await orders.update("old", (order) => order.add("s", 1), { create: true });
    await app.eventStore.archive("order-old");
    await expect(orders.load("old")).rejects.toThrow(AggregateNotFound);
  });
});

describe.skipIf(!server)("the archive beside appends", () => {
  it("Two events of a stream never have one version, also if one leaves the table while an append is under way", async () => {
    const place = await makePlace("postgres", server);
    const { eventStore, database } = await place.start();
    const { database: holder } = await place.start();
    try {
      await eventStore.append("other-1", added(0));
      // The append has read its version and waits for the lock that shows it to readers.
      const lockClass = createHash("sha256").update("stoa.events.stoa").digest().readUInt32BE() >>> 1;
      const waiting = (type: string) =>
        database.fetchval<number>("select count(*)::int from pg_locks where not granted and locktype = $1", [type]);
      let archiving: Promise<number> | undefined;
      let appending: Promise<unknown> | undefined;
      await holder.transaction(async (tx) => {
        const lock = "select pg_advisory_xact_lock($1::int, pg_sequence_last_value('stoa.events_position')::int)";
        await tx.execute(lock, [lockClass]);
        appending = eventStore.append("doc-1", added(2));
        appending.catch(() => {});
        await vi.waitFor(async () => expect(await waiting("advisory")).toBe(1), patient);
        // Another one was faster, and its event is archived at once.
        await database.execute(`insert into stoa.events (position, stream, version, category, id, type, schema_version, data, metadata)
          values (nextval('stoa.events_position'), 'doc-1', 1, 'doc', gen_random_uuid(), 'Added', 1, '1', '{}')`);
        let done = false;
        archiving = eventStore.archive("doc-1").finally(() => (done = true));
        await vi.waitFor(async () => expect(done || (await waiting("relation")) === 1).toBe(true), patient);
      });
      // The append finds the event of the other one, and then that its stream is in the archive.
      const [refused, moved] = await Promise.allSettled([appending, archiving]);
      expect(refused).toMatchObject({ status: "rejected", reason: expect.any(StreamArchivedError) });
      expect(moved).toMatchObject({ status: "fulfilled", value: 1 });
      expect(await eventStore.restore("doc-1")).toBe(1);
      await eventStore.append("doc-1", added(2));
      const events = await eventStore.read("doc-1");
      expect(events.map(({ version, data }) => [version, data])).toEqual([
        [1, 1],
        [2, 2],
      ]);
    } finally {
      await place.drop();
    }
  });
});

describe("wrong policies", () => {
  it("Policies without a category or with unknown options are refused", () => {
    const withPolicy = (policy: unknown) => () => new EventSourcingConfig({ archive: [policy as never] });
    const place = "in a policy of EventSourcingConfig.archive";
    expect(withPolicy({ category: "a" })).toThrow(`option 'after' is required ${place}`);
    expect(withPolicy({ category: "a", after: -1 })).toThrow(`option 'after' ${place} must be a duration`);
    expect(withPolicy({ category: "a", aftr: "3d" })).toThrow(`unknown option 'aftr' ${place}; did you mean 'after'?`);
    expect(withPolicy(3)).toThrow(
      "option 'archive' in EventSourcingConfig must be a list of which each item is an object",
    );
  });
});
