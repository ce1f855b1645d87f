import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { makePlace, type Place, storeKinds } from "./stores.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 5 };
const added = (n: number) => ({ type: "Added", data: n });

describe.each(storeKinds(server))("subscriptions in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start({ lease: "1s" });
  });
  afterAll(() => place.drop());
  const names = (): { name: string; category: string } => {
    const category = `c${randomUUID().slice(0, 8)}`;
    return { category, name: `on ${category}` };
  };

  it("A subscription catches up, then receives new events, and goes on from its checkpoint", async () => {
    const { name, category } = names();
    await app.eventStore.append(`${category}-1`, [added(1), added(2)]);
    await app.eventStore.append(`other${category}-1`, added(99));
    const seen: unknown[] = [];
    const first = app.eventStore.subscribe({ name, categories: [category], batch: 1 }, (event) =>
      seen.push(event.data),
    );
    await vi.waitFor(() => expect(seen).toEqual([1, 2]), patient);
    const { position } = await app.eventStore.append(`${category}-2`, added(3));
    await vi.waitFor(() => expect(seen).toEqual([1, 2, 3]), patient);
    expect(await app.eventStore.waitFor(name, position, { timeoutMs: 20_000 })).toBe(true);
    await first.close();
    await app.eventStore.append(`${category}-1`, added(4));
    await using _second = app.eventStore.subscribe({ name, categories: [category] }, (event) => seen.push(event.data));
    await vi.waitFor(() => expect(seen).toEqual([1, 2, 3, 4]), patient);
  });

  it("A subscription can begin at the end and take only some types", async () => {
    const { name, category } = names();
    await app.eventStore.append(`${category}-1`, added(1));
    const seen: unknown[] = [];
    const options = { name, categories: [category], types: ["Added"], start: "end" } as const;
    await using _subscription = app.eventStore.subscribe(options, (event) => seen.push(event.data));
    await vi.waitFor(async () => expect(await app.eventStore.storage.checkpoint(name)).not.toBeNull(), patient);
    await app.eventStore.append(`${category}-1`, [{ type: "Other", data: 0 }, added(2)]);
    await vi.waitFor(() => expect(seen).toEqual([2]), patient);
  });

  it("An event whose handler fails is tried again, and those before it are not repeated", async () => {
    const { name, category } = names();
    await app.eventStore.append(`${category}-1`, [added(1), added(2), added(3)]);
    const seen: unknown[] = [];
    let failures = 2;
    await using _subscription = app.eventStore.subscribe({ name, categories: [category] }, (event) => {
      if (event.data === 2 && failures-- > 0) throw new Error("not yet");
      seen.push(event.data);
    });
    await vi.waitFor(() => expect(seen).toEqual([1, 2, 3]), patient);
  });

  it("An event that keeps failing is skipped where the subscription allows it", async () => {
    const { name, category } = names();
    await app.eventStore.append(`${category}-1`, [added(1), added(2), added(3)]);
    const seen: unknown[] = [];
    await using _subscription = app.eventStore.subscribe({ name, categories: [category], skipAfter: 1 }, (event) => {
      if (event.data === 2) throw new Error("never");
      seen.push(event.data);
    });
    await vi.waitFor(() => expect(seen).toEqual([1, 3]), patient);
  });

  it("Events that a handler appends name the event that caused them", async () => {
    const { name, category } = names();
    await using _subscription = app.eventStore.subscribe({ name, categories: [category] }, async (event) => {
      await app.eventStore.append(`after${category}-1`, added(2));
      return event;
    });
    await app.eventStore.append(`${category}-1`, added(1), { metadata: { correlationId: "request 7" } });
    const [effect] = await vi.waitFor(async () => {
      const events = await app.eventStore.read(`after${category}-1`);
      expect(events).toHaveLength(1);
      return events;
    }, patient);
    const [cause] = await app.eventStore.read(`${category}-1`);
    expect(effect!.metadata).toEqual({ correlationId: "request 7", causationId: cause!.id });
  });

  it("Wrong options of a subscription and a second one of its name are refused", async () => {
    const { name } = names();
    const { eventStore } = app;
    expect(() => eventStore.subscribe({} as never, () => {})).toThrow("option 'name' is required in subscribe()");
    expect(() => eventStore.subscribe({ name, batchSize: 3 } as never, () => {})).toThrow("unknown option 'batchSize'");
    expect(() => eventStore.subscribe({ name }, null as never)).toThrow("takes options and a function");
    expect(() => eventStore.subscribe({ name: "projection:x" }, () => {})).toThrow("are for the store itself");
    await using _one = eventStore.subscribe({ name }, () => {});
    expect(() => eventStore.subscribe({ name }, () => {})).toThrow("has a subscription");
  });

  it("A wait for events that are not handled ends with false after its time", async () => {
    expect(await app.eventStore.waitFor("nobody", 1, { timeoutMs: 1 })).toBe(false);
  });
});

describe.skipIf(!server)("subscriptions of several workers", () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace("postgres", server);
  });
  afterAll(() => place.drop());

  it("One worker of a group is active, and another one goes on when it ends", async () => {
    const seen: string[] = [];
    const subscribe = (worker: string) => (app: App) =>
      void app.eventStore.subscribe({ name: "group", categories: ["g"] }, (event) =>
        seen.push(`${worker}${event.data}`),
      );
    const a = await place.start({}, subscribe("a"));
    await a.eventStore.append("g-1", added(1));
    await vi.waitFor(() => expect(seen).toEqual(["a1"]), patient);
    const b = await place.start({}, subscribe("b"));
    await b.eventStore.append("g-1", added(2));
    await vi.waitFor(() => expect(seen).toEqual(["a1", "a2"]), patient);
    await a.stop();
    await b.eventStore.append("g-1", added(3));
    await vi.waitFor(() => expect(seen).toEqual(["a1", "a2", "b3"]), patient);
    await b.stop();
  });

  it("A worker that cannot renew its lease handles no event that another one has taken over", async () => {
    const seen: string[] = [];
    let goOn = (): void => {};
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const subscribe = (worker: string) => (app: App) =>
      void app.eventStore.subscribe({ name: "cut off", categories: ["c"] }, async ({ data }) => {
        seen.push(`${worker}${data}`);
        if (worker === "a" && data === 1) await gate;
      });
    const a = await place.start({ lease: "300ms" }, subscribe("a"));
    vi.spyOn(a.eventStore.storage, "renew").mockRejectedValue(new Error("the connection is stalled"));
    await a.eventStore.append("c-1", [1, 2, 3].map(added));
    await vi.waitFor(() => expect(seen).toEqual(["a1"]), patient);
    const b = await place.start({ lease: "1m" }, subscribe("b"));
    await vi.waitFor(() => expect(seen).toEqual(["a1", "b1", "b2", "b3"]), patient);
    goOn();
    const { position } = await b.eventStore.append("c-1", added(4));
    expect(await b.eventStore.waitFor("cut off", position, { timeoutMs: 20_000 })).toBe(true);
    // Its end waits for the handler in progress and all that it would still call.
    await a.stop();
    expect(seen).toEqual(["a1", "b1", "b2", "b3", "b4"]);
    await b.stop();
  });

  it("A worker whose machine has slept for longer than its lease asks for it before the next event", async () => {
    const seen: number[] = [];
    let renewals = 0;
    const app = await place.start({ lease: "10m" }, ({ eventStore }) => {
      eventStore.subscribe({ name: "slept", categories: ["s"] }, ({ data }) => {
        seen.push(data as number, renewals);
        // The other clock stands still meanwhile.
        const now = Date.now();
        if (data === 1) vi.spyOn(Date, "now").mockImplementation(() => now + 700_000);
      });
    });
    const renew = app.eventStore.storage.renew.bind(app.eventStore.storage);
    vi.spyOn(app.eventStore.storage, "renew").mockImplementation((...args) => {
      renewals++;
      return renew(...args);
    });
    try {
      await app.eventStore.append("s-1", [1, 2, 3].map(added));
      await vi.waitFor(() => expect(seen).toEqual([1, 0, 2, 1, 3, 1]), patient);
    } finally {
      vi.restoreAllMocks();
      await app.stop();
    }
  });

  it("A worker whose lease has passed to another one cannot move the checkpoint", async () => {
    const { database, eventStore } = await place.start();
    const { storage } = eventStore;
    const first = await storage.claim("fenced", "a", 60_000, 0);
    expect(await storage.claim("fenced", "b", 60_000, 0)).toBeNull();
    await database.execute("update stoa.subscriptions set lease_until = clock_timestamp() where name = 'fenced'");
    const second = (await storage.claim("fenced", "b", 60_000, 0))!;
    expect(second.token).toBeGreaterThan(first!.token);
    expect(await storage.advance("fenced", first!.token, 5)).toBe(false);
    expect(await storage.renew("fenced", first!.token, 60_000)).toBe(false);
    await storage.release("fenced", first!.token);
    expect(await storage.claim("fenced", "c", 60_000, 0)).toBeNull();
    expect(await storage.advance("fenced", second.token, 6)).toBe(true);
    expect(await storage.checkpoint("fenced")).toBe(6);
  });

  it("A batch that is committed late, without the knowledge of its worker, is not committed a second time", async () => {
    const app = await place.start();
    const { storage } = app.eventStore;
    const { token } = (await storage.claim("late", "a", 60_000, 0))!;
    let begun = (): void => {};
    let goOn = (): void => {};
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const first = app.database.transaction(async (tx) => {
      const moved = await storage.advance("late", token, 5, { tx, from: 0 });
      begun();
      await gate;
      return moved;
    });
    await isBegun;
    // It waits for the lock of the first one.
    const second = app.database.transaction((tx) => storage.advance("late", token, 5, { tx, from: 0 }));
    goOn();
    expect(await first).toBe(true);
    expect(await second).toBe(false);
    expect(await storage.checkpoint("late")).toBe(5);
  });
});

describe.skipIf(!server)("the high-water mark", () => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace("postgres", server);
    app = await place.start();
  });
  afterAll(() => place.drop());

  it("A slow transaction is not skipped, and its events come before later ones", async () => {
    const seen: string[] = [];
    app.eventStore.subscribe({ name: "slow", categories: ["s"] }, (event) =>
      seen.push(`${event.stream} ${event.data}`),
    );
    await app.eventStore.append("s-first", added(0));
    await vi.waitFor(() => expect(seen).toEqual(["s-first 0"]), patient);
    await app.database.transaction(async (tx) => {
      await app.eventStore.append("s-slow", added(1), { tx });
      await place.start().then((other) => other.eventStore.append("s-fast", added(2)));
      const before = await app.eventStore.storage.highWaterMark();
      expect((await app.eventStore.readAll().then()).map(({ stream }) => stream)).toEqual(["s-first"]);
      await app.eventStore.append("s-slow", added(3), { tx });
      expect(await app.eventStore.storage.highWaterMark()).toBe(before);
    });
    await vi.waitFor(() => expect(seen).toEqual(["s-first 0", "s-slow 1", "s-fast 2", "s-slow 3"]), patient);
  });

  it("A gap that a rolled-back append left stops nobody", async () => {
    const rolledBack = app.database.transaction(async (tx) => {
      await app.eventStore.append("gap-1", [added(1), added(2)], { tx });
      throw new Error("no");
    });
    await expect(rolledBack).rejects.toThrow("no");
    const { position } = await app.eventStore.append("gap-2", added(3));
    expect(await app.eventStore.storage.highWaterMark()).toBe(position);
    const all = await app.eventStore.readAll({ backwards: true, limit: 1 });
    expect(all[0]!.stream).toBe("gap-2");
  });

  it("A long transaction that appends nothing does not hold the mark back", async () => {
    const other = await openDatabase(place.url);
    try {
      await other.transaction(async (tx) => {
        await tx.execute("create temporary table t as select pg_current_xact_id()");
        const { position } = await app.eventStore.append("long-1", added(1));
        expect(await app.eventStore.storage.highWaterMark()).toBe(position);
      });
    } finally {
      await other.close();
    }
  });

  it("Under concurrent transactions, one of them held to the end, each committed event is seen once and in order", async () => {
    const many = await openDatabase({ url: place.url, poolSize: 16 });
    const seen: number[] = [];
    await using _running = app.eventStore.subscribe({ name: "mixed", categories: ["mixed"] }, ({ position }) =>
      seen.push(position),
    );
    try {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      let first = (): void => {};
      const begun = new Promise<void>((resolve) => (first = resolve));
      const long = many.transaction(async (tx) => {
        await app.eventStore.append("mixed-long", added(0), { tx });
        first();
        await held;
        await app.eventStore.append("mixed-long", added(1), { tx });
      });
      await begun;
      const writers = Array.from({ length: 10 }, async (_, writer) => {
        for (let n = 0; n < 12; n++) {
          const rolledBack = (writer + n) % 4 === 0;
          const work = many.transaction(async (tx) => {
            await app.eventStore.append(`mixed-${writer}`, added(n), { tx });
            if (n % 3 === 0) await tx.fetchval("select pg_sleep(random() / 100)");
            await app.eventStore.append(`mixed-${(writer + 1) % 3}-b`, added(n), { tx });
            if (rolledBack) throw new Error("rolled back");
          });
          // Two that append to the same streams in another order may wait for each other; PostgreSQL ends one of them.
          await work.catch(() => {});
        }
      });
      await Promise.all(writers);
      // All of them are above the mark as long as the first one is open.
      expect(seen).toEqual([]);
      const mark = await app.eventStore.storage.highWaterMark();
      expect(await app.eventStore.readCategory("mixed")).toEqual([]);
      release();
      await long;
      const { position } = await app.eventStore.append("mixed-end", added(0));
      expect(await app.eventStore.storage.highWaterMark()).toBe(position);
      expect(position).toBeGreaterThan(mark);
      expect(await app.eventStore.waitFor("mixed", position, { timeoutMs: 20_000 })).toBe(true);
      const all = await app.eventStore.readCategory("mixed");
      expect(seen).toEqual(all.map((event) => event.position));
      const streams = new Map<string, number>();
      for (const { stream, version } of all) {
        expect(version).toBe((streams.get(stream) ?? 0) + 1);
        streams.set(stream, version);
      }
    } finally {
      await many.close();
    }
  });

  it("The mark is right when positions have more bits than the keys of locks", async () => {
    const own = await makeDatabase(server!);
    const far = await makePlaceAt(own.url);
    try {
      await far.database.execute("select setval('stoa.events_position', 2147483646)");
      await far.eventStore.append("far-1", [added(1)]);
      await far.database.transaction(async (tx) => {
        await far.eventStore.append("far-2", [added(2), added(3)], { tx });
        await far.database.withSignal(new AbortController().signal).fetchval("select 1");
        expect(await far.eventStore.storage.highWaterMark()).toBe(2147483647);
      });
      expect(await far.eventStore.storage.highWaterMark()).toBe(2147483649);
    } finally {
      await far.stop();
      await own.drop();
    }
  });
});

async function makePlaceAt(url: string): Promise<App> {
  const { App } = await import("../../../src/app/app.js");
  const app = new App();
  app.enableDatabase(url).enableEventSourcing();
  await app.start();
  return app;
}
