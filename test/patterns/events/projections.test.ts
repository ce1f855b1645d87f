import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { sql } from "../../../src/engines/db/sql/sql.js";
import { ValueError } from "../../../src/kit/value-error.js";
import { projection } from "../../../src/patterns/events/projections/projection.js";
import { blockFor } from "../../support/block-for.js";
import { service } from "../../support/service.js";
import { Order } from "./order.js";
import { makePlace, type Place, quiet, recorder, storeKinds } from "./stores.js";
import { totals } from "./totals.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 10 };

/** The sum of each order; `factor` is how the versions of it differ. */
function sums(version: number, factor: number, before: (sku: string) => unknown = () => {}) {
  return projection("sums", {
    from: Order,
    tables: ["order_sums"],
    version,
    create: (tx, tables) =>
      tx.execute(
        sql`create table ${tables.order_sums} (stream text primary key, total int not null, events int not null)`,
      ),
    on: {
      ItemAdded: async (event, { tx, tables }) => {
        await before(event.data.sku);
        await tx.execute(sql`insert into ${tables.order_sums} as o values (${event.stream}, ${event.data.price * factor}, 1)
          on conflict (stream) do update set total = o.total + excluded.total, events = o.events + 1`);
      },
    },
  });
}

const item = (sku: string, price: number) => ({ type: "ItemAdded", data: { sku, price } });

describe.each(storeKinds(server).filter((kind) => kind !== "memory"))("projections in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start({ lease: "1s" });
  });
  afterAll(() => place.drop());
  const rows = () => app.database.fetch("select * from order_sums order by stream");

  it.runIf(kind === "postgres").each(["awaits", "blocks"])(
    "A handler that %s longer than its transaction may be idle gets more time with each attempt",
    async (way) => {
      const { logger, lines } = recorder();
      const own = await makePlace(kind, server);
      onTestFinished(() => own.drop());
      const slowApp = await own.start({ lease: "100ms" }, (made) => void (made.logger = logger));
      const slow = totals(`slow_${way}`, {}, async () => {
        if (way === "awaits") await new Promise((resolve) => setTimeout(resolve, 350));
        else blockFor(350);
      });
      const { position } = await slowApp.eventStore.append("order-1", item("a", 1));
      slowApp.eventStore.project(slow);
      expect(await slowApp.eventStore.waitFor(slow, position, { timeoutMs: 20_000 })).toBe(true);
      expect(lines).toContain("a handler took longer than its transaction may be idle; the next attempt has more time");
    },
  );

  it("A projection whose tables could not be created is tried again", async () => {
    const own = await makePlace(kind, server);
    onTestFinished(() => own.drop());
    const { eventStore } = await own.start({});
    const { position } = await eventStore.append("order-late", item("a", 1));
    let failures = 2;
    const late = totals("late_totals", {
      create: async (tx, tables) => {
        await tx.execute(sql`create table ${tables["late_totals"]} (stream text primary key, total int, events int)`);
        if (failures-- > 0) throw new Error("the connection is lost");
      },
    });
    eventStore.project(late);
    expect(await eventStore.waitFor(late, position, { timeoutMs: 20_000 })).toBe(true);
  });

  it("A projection keeps its tables up to date, each event once, and is built again beside them", async () => {
    const { eventStore } = app;
    await eventStore.append("order-1", [item("a", 1), { type: "OrderPlaced", data: { customer: "x" } }, item("b", 2)]);
    let failures = 2;
    const first = sums(1, 1, (sku) => {
      if (sku === "c" && failures-- > 0) throw new Error("not yet");
    });
    const running = eventStore.project(first);
    const { position } = await eventStore.append("order-2", [item("a", 5), item("c", 6), item("d", 7)]);
    expect(await eventStore.waitFor(first, position, { timeoutMs: 20_000 })).toBe(true);
    expect(await rows()).toEqual([
      { stream: "order-1", total: 3, events: 2 },
      { stream: "order-2", total: 18, events: 3 },
    ]);

    // A table that went wrong is replaced, and served until then.
    await app.database.execute("update order_sums set total = -1");
    await eventStore.rebuild(first);
    await vi.waitFor(async () => expect((await rows())[0]).toMatchObject({ total: 3, events: 2 }), patient);
    const tables = "select count(*) from pg_tables where tablename like 'order_sums%'";
    await vi.waitFor(async () => expect(await app.database.fetchval(tables)).toBe(1), patient);
    const later = await eventStore.append("order-1", item("e", 10));
    expect(await eventStore.waitFor(first, later.position, { timeoutMs: 20_000 })).toBe(true);
    expect((await rows())[0]).toMatchObject({ total: 13, events: 3 });
    // The checkpoint of the build that was replaced is deleted.
    const names = "select name from stoa.subscriptions where name like 'projection:%'";
    const expected = [{ name: "projection:sums@1.2" }];
    await vi.waitFor(async () => expect(await app.database.fetch(names)).toEqual(expected), patient);
    await running.close();
  });

  it("A new version is built while the old one serves, and then takes its place", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = 0;
    const next = sums(2, 100, async () => {
      begun++;
      await held;
    });
    await using _running = app.eventStore.project(next);
    await vi.waitFor(() => expect(begun).toBeGreaterThan(0), patient);
    // PGlite has one connection, which the transaction of the build holds.
    if (kind === "postgres") expect((await rows())[0]).toMatchObject({ total: 13 });
    release();
    await vi.waitFor(async () => expect((await rows())[0]).toMatchObject({ total: 1300, events: 3 }), patient);
    const { position } = await app.eventStore.append("order-1", item("f", 1));
    expect(await app.eventStore.waitFor(next, position, { timeoutMs: 20_000 })).toBe(true);
    expect((await rows())[0]).toMatchObject({ total: 1400, events: 4 });
  });

  if (kind !== "pglite")
    it("A program of an older version leaves the tables of the newer one alone", async () => {
      const ran = vi.fn();
      await using _old = app.eventStore.project(sums(1, 1, ran));
      await using _next = (await place.start()).eventStore.project(sums(2, 100));
      const { position } = await app.eventStore.append("order-1", item("g", 1));
      await vi.waitFor(async () => {
        const checkpoint = await app.database.fetchval<number>("select max(position) from stoa.subscriptions");
        expect(checkpoint).toBeGreaterThanOrEqual(position);
      }, patient);
      expect((await rows())[0]).toMatchObject({ total: 1500 });
      expect(ran).not.toHaveBeenCalled();
    });

  if (kind !== "pglite")
    it("While the next version is built, the program of the old one keeps serving new events", async () => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      let begun = 0;
      const old = sums(2, 100);
      const next = sums(3, 1, async () => {
        begun++;
        await held;
      });
      const blue = await place.start({ lease: "1s" });
      await using _old = blue.eventStore.project(old);
      const green = await place.start({ lease: "1s" });
      await using _next = green.eventStore.project(next);
      await vi.waitFor(() => expect(begun).toBeGreaterThan(0), patient);
      const { position } = await blue.eventStore.append("order-blue", item("a", 1));
      expect(await blue.eventStore.waitFor(old, position, { timeoutMs: 20_000 })).toBe(true);
      expect(await rows()).toContainEqual({ stream: "order-blue", total: 100, events: 1 });
      release();
      await vi.waitFor(async () => {
        expect(await rows()).toContainEqual({ stream: "order-blue", total: 1, events: 1 });
      }, patient);
      const later = await blue.eventStore.append("order-blue", item("b", 1));
      expect(await green.eventStore.waitFor(next, later.position, { timeoutMs: 20_000 })).toBe(true);
      expect(await rows()).toContainEqual({ stream: "order-blue", total: 2, events: 2 });
    });
});

describe("wrong projections", () => {
  it("Wrong names and versions of a projection are refused", () => {
    const wrong = (change: object) => () => projection("p", { ...base, ...change } as never);
    const base = { from: Order, tables: ["t"], create: () => {}, on: {} };
    expect(wrong({ tables: ['t"; drop'] })).toThrow("a list of which each item is a name of at most 50 small letters");
    expect(wrong({ tables: [] })).toThrow("option 'tables'");
    expect(wrong({ from: [] })).toThrow("option 'from'");
    expect(wrong({ version: 0 })).toThrow("option 'version'");
    expect(wrong({ batch: 0 })).toThrow("option 'batch'");
    expect(wrong({ mdoe: "inline" })).toThrow("unknown option 'mdoe' in projection(); did you mean 'mode'?");
  });

  it("A projection needs events in a database", async () => {
    const app = new App();
    app.logger = quiet;
    app.enableEventSourcing({ storeType: "memory" });
    app.eventStore.project(sums(1, 1));
    await expect(app.start()).rejects.toThrow(ValueError);
    await app.stop();
  });
});
