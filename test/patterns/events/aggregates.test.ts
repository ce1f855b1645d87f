import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { Aggregate } from "../../../src/patterns/events/aggregate.js";
import { decider } from "../../../src/patterns/events/decider.js";
import { AggregateNotFound, ConcurrencyError } from "../../../src/patterns/events/errors.js";
import { service } from "../../support/service.js";
import { counter, Order } from "./order.js";
import { makePlace, type Place, recorder, storeKinds } from "./stores.js";

const server = service("postgres");

it("An aggregate without apply is told so", () => {
  class Silent extends (Aggregate as unknown as new (id: string) => { emit(type: string): void }) {}
  expect(() => new Silent("1").emit("Opened")).toThrow("Silent has no apply(event)");
});

describe.each(storeKinds(server))("aggregates in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start({ snapshotInterval: 10 });
  });
  afterAll(() => place.drop());
  const newOrder = (): Order => {
    const order = new Order(randomUUID());
    order.place("Ada");
    return order;
  };
  /** The snapshot of an order once it is saved, as the storage has it. */
  const snapshotOf = (id: string, version: number) =>
    vi.waitFor(async () => {
      const snapshot = await app.eventStore.storage.loadSnapshot(`order-${id}`);
      expect(snapshot?.version).toBe(version);
      return snapshot!;
    });

  it("An aggregate is saved as events and loaded from them", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    order.add("tea", 5);
    expect([order.version, order.pending.length, order.total]).toEqual([0, 2, 5]);
    await orders.save(order);
    expect([order.version, order.pending.length]).toEqual([2, 0]);
    const loaded = await orders.load(order.id);
    expect(loaded).toBeInstanceOf(Order);
    expect([loaded.id, loaded.version, loaded.customer, loaded.items, loaded.total]).toEqual([
      order.id,
      2,
      "Ada",
      ["tea"],
      5,
    ]);
    expect((await app.eventStore.read(`order-${order.id}`)).map(({ type }) => type)).toEqual([
      "OrderPlaced",
      "ItemAdded",
    ]);
  });

  it("An aggregate is loaded as it was at a version or a time, past its snapshot and its archive", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    for (let price = 1; price <= 14; price++) {
      order.add("tea", price);
      await orders.save(order);
    }
    await snapshotOf(order.id, 10);
    const totals = async (...versions: number[]) =>
      Promise.all(versions.map(async (version) => (await orders.load(order.id, { version })).total));
    expect(await totals(2, 9, 10, 12, 15, 99)).toEqual([1, 36, 45, 66, 105, 105]);
    const events = await app.eventStore.read(`order-${order.id}`);
    const time = events[5]!.recordedAt;
    const byThen = events.filter(({ recordedAt }) => recordedAt <= time).length;
    expect((await orders.load(order.id, { at: time })).version).toBe(byThen);
    expect(await orders.find(order.id, { at: new Date(0) })).toBeNull();
    await app.eventStore.truncateBefore(`order-${order.id}`, 8);
    expect(await totals(2, 12)).toEqual([1, 66]);
    // What was loaded from the past cannot be saved over what came after it.
    if (kind !== "memory") expect((await orders.load(order.id, { tx: app.database })).version).toBe(15);
    const past = await orders.load(order.id, { version: 3 });
    past.add("milk", 1);
    await expect(orders.save(past)).rejects.toThrow(ConcurrencyError);
    for (const wrong of [
      { version: 0 },
      { version: 1.5 },
      { at: "now" },
      { at: new Date(Number.NaN) },
      { verion: 1 },
    ]) {
      await expect(orders.load(order.id, wrong as never)).rejects.toThrow("load()");
    }
    const counters = app.eventStore.decider(counter);
    const id = randomUUID();
    for (const add of [1, 2, 3]) await counters.handle(id, { add } as never);
    expect((await counters.load(id, { version: 2 })).version).toBe(2);
  });

  it("The events of an aggregate have the metadata that it is saved with", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    await orders.save(order, { metadata: { correlationId: "c1", user: "ada" } });
    await orders.update(order.id, (found) => found.add("tea", 5), { metadata: { correlationId: "c2" } });
    expect((await app.eventStore.read(`order-${order.id}`)).map(({ metadata }) => metadata)).toEqual([
      { correlationId: "c1", user: "ada" },
      { correlationId: "c2" },
    ]);
  });

  it("An aggregate without events is not found", async () => {
    const orders = app.eventStore.repository(Order);
    await expect(orders.load("nobody")).rejects.toThrow(AggregateNotFound);
    expect(await orders.find("nobody")).toBeNull();
    await expect(orders.update("nobody", () => {})).rejects.toMatchObject({ status: 404 });
  });

  it("A save of an aggregate that another writer has changed is a conflict", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    await orders.save(order);
    const other = await orders.load(order.id);
    other.add("tea", 5);
    await orders.save(other);
    order.add("cake", 3);
    await expect(orders.save(order)).rejects.toThrow(ConcurrencyError);
  });

  it("A save that is repeated after a lost response stores the events once", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    await app.eventStore.append(`order-${order.id}`, order.pending as never);
    await orders.save(order);
    expect(order.version).toBe(1);
    expect(await app.eventStore.streamVersion(`order-${order.id}`)).toBe(1);
  });

  it("Concurrent updates of one aggregate are all stored, each tried again after a conflict", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    await orders.save(order);
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => orders.update(order.id, (one) => one.add(`sku${n}`, 1), { retries: 50 })),
    );
    const loaded = await orders.load(order.id);
    expect([loaded.version, loaded.total, new Set(loaded.items).size]).toEqual([9, 8, 8]);
  });

  it("An update gives up after its retries, and creates an aggregate only if asked to", async () => {
    const orders = app.eventStore.repository(Order);
    const id = randomUUID();
    await orders.update(id, (order) => order.place("Ada"), { create: true });
    const interrupted = orders.update(
      id,
      async (order) => {
        await app.eventStore.append(`order-${id}`, { type: "ItemAdded", data: { sku: "x", price: 1 } });
        order.add("y", 2);
      },
      { retries: 2 },
    );
    await expect(interrupted).rejects.toThrow(ConcurrencyError);
    expect((await orders.load(id)).items).toEqual(["x", "x", "x"]);
  });

  it("A snapshot is taken when the number of events passes a multiple of the interval, and is used", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    for (let n = 0; n < 8; n++) order.add("tea", 1);
    await orders.save(order);
    expect(await app.eventStore.storage.loadSnapshot(`order-${order.id}`)).toBeNull();
    for (let n = 0; n < 3; n++) order.add("tea", 1);
    await orders.save(order);
    await snapshotOf(order.id, 12);
    order.add("cake", 2);
    await orders.save(order);
    const applied = vi.spyOn(Order.prototype, "apply");
    const loaded = await orders.load(order.id);
    expect(applied).toHaveBeenCalledTimes(1);
    applied.mockRestore();
    expect({ ...loaded }).toEqual({ ...order });
    expect(loaded.version).toBe(13);
  });

  it("A snapshot that is corrupt, of another schema or of other events is ignored", async () => {
    const orders = app.eventStore.repository(Order);
    const order = newOrder();
    for (let n = 0; n < 9; n++) order.add("tea", 1);
    await orders.save(order);
    const good = await snapshotOf(order.id, 10);
    const { storage } = app.eventStore;
    const stream = `order-${order.id}`;
    const wrong = [
      { ...good, state: good.state.replace('"total":9', '"total":900') },
      { ...good, schema: "order 2" },
      { ...good, eventId: randomUUID() },
      { ...good, version: 9 },
    ];
    for (const snapshot of wrong) {
      await storage.saveSnapshot(stream, { ...snapshot, version: snapshot.version });
      if (kind !== "memory") {
        await app.database.execute(
          "update stoa.snapshots set version = $2, event_id = $3, schema = $4, state = $5, checksum = $6 where stream = $1",
          [stream, snapshot.version, snapshot.eventId, snapshot.schema, snapshot.state, snapshot.checksum],
        );
      }
      const loaded = await orders.load(order.id);
      expect([loaded.total, loaded.version]).toEqual([9, 10]);
    }
  });

  it("Snapshots are disabled with a warning where a field is not a JSON value", async () => {
    class Calendar extends Aggregate<{ Booked: { at: string } }> {
      days = new Map<string, number>();
      book(at: string): void {
        this.emit("Booked", { at });
      }
      apply(event: { data: { at: string } }): void {
        this.days.set(event.data.at, 1);
      }
    }
    const { logger, lines } = recorder();
    const other = await place.start({ snapshotInterval: 2 }, (one) => {
      one.logger = logger;
    });
    const calendar = new Calendar(randomUUID());
    for (let n = 0; n < 4; n++) calendar.book(`day ${n}`);
    const calendars = other.eventStore.repository(Calendar);
    await calendars.save(calendar);
    expect(lines).toContain("snapshots of 'calendar' are disabled: state.days is not a plain JSON value");
    expect((await calendars.load(calendar.id)).days.size).toBe(4);
  });

  it("A decider handles commands with pure functions", async () => {
    const counters = app.eventStore.decider(counter);
    const id = randomUUID();
    expect(await counters.load(id)).toEqual({ state: { value: 0 }, version: 0 });
    const decision = await counters.handle(id, { add: 3, max: 10 });
    expect(decision).toMatchObject({ state: { value: 3 }, version: 1, events: [{ type: "Counted", data: { by: 3 } }] });
    expect(await counters.handle(id, { add: 8, max: 10 })).toMatchObject({ events: [], version: 1 });
    await Promise.all(Array.from({ length: 12 }, () => counters.handle(id, { add: 1, max: 100 }, { retries: 50 })));
    expect(await counters.load(id)).toEqual({ state: { value: 15 }, version: 13 });
    const snapshot = await vi.waitFor(async () => {
      const found = await app.eventStore.storage.loadSnapshot(`counter-${id}`);
      expect(found).not.toBeNull();
      return found!;
    });
    expect(JSON.parse(snapshot.state)).toEqual({ value: snapshot.version + 2 });
  });

  it("A category with a hyphen is refused", () => {
    class Bad extends Aggregate {
      static override readonly category = "a-b";
      apply(): void {}
    }
    expect(() => app.eventStore.repository(Bad)).toThrow("a category cannot contain a hyphen");
    const definition = { category: "a-b", initial: () => 0, evolve: () => 0, decide: () => [] };
    expect(() => decider()(definition)).toThrow("a category cannot contain a hyphen");
  });

  if (kind !== "memory")
    it("A snapshot of a transaction that is rolled back is not saved", async () => {
      const orders = app.eventStore.repository(Order);
      const order = newOrder();
      for (let n = 0; n < 10; n++) order.add("tea", 1);
      const failing = app.database.transaction(async () => {
        await orders.save(order);
        throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
      const count = await app.database.fetchval("select count(*) from stoa.snapshots where stream = $1", [
        `order-${order.id}`,
      ]);
      expect(count).toBe(0);
    });
});
