import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { sql } from "../../../src/engines/db/sql/sql.js";
import { type ProjectionParts, projection } from "../../../src/patterns/events/projections/projection.js";
import { compiled } from "../../support/compiled.js";
import { service } from "../../support/service.js";
import { counter, Order, type OrderEvents } from "./order.js";
import { makePlace, type Place, storeKinds } from "./stores.js";
import { totals } from "./totals.js";

const server = service("postgres");
const patient = { timeout: 60_000, interval: 10 };
const item = (sku: string, price: number) => ({ type: "ItemAdded", data: { sku, price } });

type Options = Partial<ProjectionParts<OrderEvents, string>>;

describe.each(storeKinds(server).filter((kind) => kind !== "memory"))("modes of projections in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start({ lease: "2s" });
  });
  afterAll(() => place.drop());
  const rows = (table: string) => app.database.fetch(`select stream, total, events from ${table} order by stream`);

  it("An inline projection is up to date when the append returns, and is rolled back with it", async () => {
    let failing = false;
    const options: Options = { mode: "inline" };
    const now = totals("inline_totals", options, () => {
      if (failing) throw new Error("the handler fails");
    });
    await using _running = app.eventStore.project(now);
    await vi.waitFor(async () => {
      const found = "select 1 from stoa.projections where name = 'inline_totals'";
      expect(await app.database.fetchval(found)).toBe(1);
    }, patient);
    const { position } = await app.eventStore.append("order-1", [item("a", 1), item("b", 2)]);
    expect(await rows("inline_totals")).toEqual([{ stream: "order-1", total: 3, events: 2 }]);
    expect(await app.eventStore.waitFor(now, position, { timeoutMs: 0 })).toBe(true);

    failing = true;
    await expect(app.eventStore.append("order-1", item("c", 3))).rejects.toThrow("the handler fails");
    expect(await app.eventStore.streamVersion("order-1")).toBe(2);
    failing = false;

    // In the transaction of the caller, and with its end.
    const rolledBack = app.database.transaction(async (tx) => {
      await app.eventStore.append("order-1", item("d", 4), { tx });
      expect(await tx.fetchval("select total from inline_totals")).toBe(7);
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect(await rows("inline_totals")).toEqual([{ stream: "order-1", total: 3, events: 2 }]);

    // Built again while it serves; later appends are inline again.
    await app.database.execute("update inline_totals set total = -1");
    await app.eventStore.rebuild(now);
    await vi.waitFor(async () => expect((await rows("inline_totals"))[0]).toMatchObject({ total: 3 }), patient);
    await app.eventStore.append("order-1", item("e", 5));
    expect(await rows("inline_totals")).toEqual([{ stream: "order-1", total: 8, events: 3 }]);
  });

  it("An inline projection of a store with events handles those of the past first", async () => {
    const late = totals("late_totals", { mode: "inline" });
    await using _running = app.eventStore.project(late);
    await vi.waitFor(async () => expect(await rows("late_totals")).toEqual(await rows("inline_totals")), patient);
    await vi.waitFor(async () => {
      const live = "select live from stoa.projections where name = 'late_totals'";
      expect(await app.database.fetchval(live)).toBe("1.1");
    }, patient);
    await app.eventStore.append("order-2", item("a", 10));
    expect(await rows("late_totals")).toContainEqual({ stream: "order-2", total: 10, events: 1 });
  });

  it("A projection reads the events of several kinds of aggregates, in one order", async () => {
    const both = projection("both", {
      from: [Order, counter],
      tables: ["both_kinds"],
      create: (tx, tables) => tx.execute(sql`create table ${tables.both_kinds} (position bigint, kind text)`),
      on: {
        ItemAdded: (event, { tx, tables }) =>
          tx.execute(sql`insert into ${tables.both_kinds} values (${event.position}, ${event.category})`),
        Counted: (event, { tx, tables }) =>
          tx.execute(sql`insert into ${tables.both_kinds} values (${event.position}, ${event.category})`),
      },
    });
    await using _running = app.eventStore.project(both);
    await app.eventStore.append("counter-1", { type: "Counted", data: { by: 1 } });
    const { position } = await app.eventStore.append("order-3", item("a", 1));
    expect(await app.eventStore.waitFor(both, position, { timeoutMs: 60_000 })).toBe(true);
    const found = await app.database.fetch<{ position: number; kind: string }>("select * from both_kinds");
    expect(found.slice(-2).map(({ kind: name }) => name)).toEqual(["counter", "order"]);
    expect(found.map((row) => row.position)).toEqual(found.map((row) => row.position).sort((a, b) => a - b));
  });

  it("A sharded projection handles each event once, and its shards move to a new build together", async () => {
    const parts = totals("parts_totals", { shards: 4, batch: 3 });
    await using _running = app.eventStore.project(parts);
    let position = 0;
    for (let n = 0; n < 40; n++) position = (await app.eventStore.append(`order-s${n % 8}`, item("x", n))).position;
    expect(await app.eventStore.waitFor(parts, position, { timeoutMs: 60_000 })).toBe(true);
    const sums = `select stream, sum((data ->> 'price')::int)::int as total, count(*)::int as events
      from stoa.events where type = 'ItemAdded' group by stream order by stream`;
    expect(await rows("parts_totals")).toEqual(await app.database.fetch(sums));
    const shards = "select count(*) from stoa.subscriptions where name like 'projection:parts_totals@%#%'";
    expect(await app.database.fetchval(shards)).toBe(4);

    await app.database.execute("update parts_totals set total = -1");
    await app.eventStore.rebuild(parts);
    const live = "select live from stoa.projections where name = 'parts_totals'";
    await vi.waitFor(async () => expect(await app.database.fetchval(live)).toBe("1.2"), patient);
    const later = await app.eventStore.append("order-s1", item("y", 7));
    expect(await app.eventStore.waitFor(parts, later.position, { timeoutMs: 60_000 })).toBe(true);
    expect(await rows("parts_totals")).toEqual(await app.database.fetch(sums));
  });
});

describe.skipIf(!server)("shards of several workers", () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace("postgres", server);
  });
  afterAll(() => place.drop());

  it("Shards are spread over the workers, and those of a worker that ends move to the others", async () => {
    const sums = totals("spread_totals", { shards: 4, batch: 5 });
    const first = await place.start({ lease: "1s" }, (app) => void app.eventStore.project(sums));
    const { eventStore, database } = first;
    const owners = async (): Promise<number[]> => {
      const held = await eventStore.storage.subscriptions();
      const counts = new Map<string, number>();
      for (const { owner } of held) if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
      return [...counts.values()];
    };
    await vi.waitFor(async () => expect(await owners()).toEqual([4]), patient);
    const second = await place.start({ lease: "1s" }, (app) => void app.eventStore.project(sums));
    await vi.waitFor(async () => expect(await owners()).toEqual([2, 2]), patient);
    const write = async (): Promise<number> => {
      let position = 0;
      for (let n = 0; n < 30; n++) position = (await eventStore.append(`order-${n % 10}`, item("x", n))).position;
      return position;
    };
    expect(await eventStore.waitFor(sums, await write(), { timeoutMs: 60_000 })).toBe(true);
    await second.stop();
    await vi.waitFor(async () => expect(await owners()).toEqual([4]), patient);
    expect(await eventStore.waitFor(sums, await write(), { timeoutMs: 60_000 })).toBe(true);
    const total = "select sum(events)::int as events, sum(total)::int as total from spread_totals";
    expect(await database.fetchrow(total)).toEqual({ events: 60, total: 870 });
  });
});

describe.skipIf(!server)("a rebuild under a kill", () => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace("postgres", server);
    app = await place.start({ lease: "1s" });
  });
  afterAll(() => place.drop());

  it("A process that is killed during a rebuild leaves the serving tables right, and another one ends the rebuild", {
    timeout: 300_000,
  }, async () => {
    const { eventStore, database } = app;
    for (let n = 0; n < 60; n++) {
      await eventStore.append(
        `order-${n % 5}`,
        Array.from({ length: 10 }, (_, i) => item("a", n + i)),
      );
    }
    const sums = `select stream, sum((data ->> 'price')::int)::int as total, count(*)::int as events
      from stoa.events group by stream order by stream`;
    const rows = () => database.fetch("select stream, total, events from killed_totals order by stream");
    const first = totals("killed_totals", {});
    const old = eventStore.project(first);
    const end = (await eventStore.readAll({ backwards: true, limit: 1 }))[0]!.position;
    expect(await eventStore.waitFor(first, end, { timeoutMs: 60_000 })).toBe(true);

    // Programs of version 2 build their tables slowly, and are killed in the middle. The old version serves and follows.
    for (let kill = 0; kill < 2; kill++) {
      const child = start(place.url);
      const next = `projection:killed_totals@2.1`;
      const before = (await eventStore.storage.checkpoint(next)) ?? 0;
      await vi.waitFor(async () => {
        expect((await eventStore.storage.checkpoint(next)) ?? 0).toBeGreaterThan(before);
      }, patient);
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      const { position } = await eventStore.append("order-1", item("k", 1000));
      expect(await eventStore.waitFor(first, position, { timeoutMs: 60_000 })).toBe(true);
      expect(await rows()).toEqual(await database.fetch(sums));
    }

    const other = await place.start({ lease: "1s" });
    await using _next = other.eventStore.project(totals("killed_totals", { version: 2 }));
    const live = "select live from stoa.projections where name = 'killed_totals'";
    await vi.waitFor(async () => expect(await database.fetchval(live)).toBe("2.1"), patient);
    expect(await rows()).toEqual(await database.fetch(sums));
    await old.close();
  });

  it("An append right after an inline projection was added is in its tables", async () => {
    let begun = (): void => {};
    let end = (): void => {};
    const creating = new Promise<void>((resolve) => (begun = resolve));
    const ending = new Promise<void>((resolve) => (end = resolve));
    const late = projection("late", {
      from: { category: "late", eventTypes: {} as { Counted: { by: number } } },
      tables: ["late"],
      mode: "inline",
      create: async (tx, tables) => {
        await tx.execute(sql`create table ${tables.late} (by int not null)`);
        begun();
        await ending;
      },
      on: { Counted: (event, { tx, tables }) => tx.execute(sql`insert into ${tables.late} values (${event.data.by})`) },
    });
    await using _running = app.eventStore.project(late);
    await creating;
    const appended = app.eventStore.append("late-1", { type: "Counted", data: { by: 3 } });
    // Enough for an append that does not wait for the tables.
    for (let n = 0; n < 30; n++) await app.database.fetchval("select 1");
    end();
    await appended;
    expect(await app.database.fetch("select by from late")).toEqual([{ by: 3 }]);
  });
});

function start(url: string): ChildProcess {
  const program = join(import.meta.dirname, "rebuilding-process.ts");
  return spawn(process.execPath, [compiled(program), url], { stdio: ["ignore", "ignore", "inherit"] });
}
