import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { makePlace, type Place } from "./stores.js";
import { totals } from "./totals.js";

const server = service("postgres");
/** More than the first three reads look at: 10,000, 20,000 and 40,000. */
const count = isLong ? 200_000 : 80_000;

describe.skipIf(!server)(`an event of a rare type behind ${count} others`, { timeout: 240_000 }, () => {
  let place: Place;
  beforeEach(async () => {
    place = await makePlace("postgres", server);
  });
  afterEach(() => place.drop());

  /** A store whose rare events are the first and the last. */
  const filled = async () => {
    const app = await place.start({ archive: [{ category: "order", after: "30d" }] });
    const { eventStore, database } = app;
    await eventStore.append("order-first", { type: "ItemAdded", data: { sku: "a", price: 1 } });
    // In parts: one statement for all would reach its time limit on a slow machine.
    for (let from = 1; from <= count; from += 10_000) {
      await database.execute(
        `insert into stoa.events (position, stream, version, category, id, type, schema_version, data, metadata, recorded_at)
         select nextval('stoa.events_position'), 'order-' || n, 1, 'order', gen_random_uuid(), 'Frequent', 1, '{}', '{}', clock_timestamp()
         from generate_series(${from}, ${from + 9999}) n`,
      );
    }
    await eventStore.append("order-last", { type: "ItemAdded", data: { sku: "a", price: 2 } });
    return app;
  };

  it("A subscription and a projection find it, and no read looks at all events at once", async () => {
    const app = await filled();
    const reads = vi.spyOn(app.eventStore.storage, "readAll");
    const seen: unknown[] = [];
    app.eventStore.subscribe({ name: "rare", types: ["ItemAdded"] }, ({ data }) => seen.push(data));
    const sums = totals("rare_sums", {});
    app.eventStore.project(sums);
    const position = count + 2;
    expect(await app.eventStore.waitFor("rare", position, { timeoutMs: 100_000 })).toBe(true);
    expect(await app.eventStore.waitFor(sums, position, { timeoutMs: 100_000 })).toBe(true);
    expect(seen).toEqual([
      { sku: "a", price: 1 },
      { sku: "a", price: 2 },
    ]);
    const first = reads.mock.calls[0]!;
    expect(first[2] - first[1]).toBeLessThanOrEqual(10_000);
  });

  it("A subscription that is stopped on the way goes on from the last window", async () => {
    const app = await filled();
    const { storage } = app.eventStore;
    const readAll = storage.readAll.bind(storage);
    const froms: number[] = [];
    let fails = false;
    vi.spyOn(storage, "readAll").mockImplementation((filter, from, ...rest) => {
      if (fails) return Promise.reject(new Error("a statement that took too long"));
      froms.push(from);
      fails = froms.length === 3;
      return readAll(filter, from, ...rest);
    });
    const subscription = app.eventStore.subscribe({ name: "stopped", types: ["Never"] }, () => {});
    await vi.waitFor(() => expect(fails).toBe(true), { timeout: 60_000 });
    await vi.waitFor(async () => expect(await storage.checkpoint("stopped")).toBeGreaterThan(froms[2]!), {
      timeout: 60_000,
    });
    await subscription.close();
    fails = false;
    const reached = await storage.checkpoint("stopped");
    app.eventStore.subscribe({ name: "stopped", types: ["Never"] }, () => {});
    await vi.waitFor(() => expect(froms.length).toBeGreaterThan(3), { timeout: 60_000 });
    expect(froms[3]).toBe(reached);
  });

  it("A policy of the archive reads old events once, in parts, and finds streams that become old later", async () => {
    const app = await filled();
    const { eventStore, database } = app;
    // The first stream is too new: nothing behind it is read.
    expect(await eventStore.applyArchivePolicies()).toBe(0);
    const parts = vi.spyOn(eventStore.storage, "finished");
    await database.execute("update stoa.events set recorded_at = recorded_at - interval '90 days' where position <= 3");
    await database.execute("update stoa.events set recorded_at = clock_timestamp() where position > 3");
    expect(await eventStore.applyArchivePolicies()).toBe(3);
    expect(await eventStore.applyArchivePolicies()).toBe(0);
    expect(parts.mock.calls.map(([, from]) => from)).toEqual([0, 3]);
    await database.execute("update stoa.events set recorded_at = recorded_at - interval '90 days' where position = 4");
    expect(await eventStore.applyArchivePolicies()).toBe(1);
  });
});
