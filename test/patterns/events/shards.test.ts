import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { service } from "../../support/service.js";
import { makePlace, type Place, storeKinds } from "./stores.js";

const server = service("postgres");
const patient = { timeout: 150_000, interval: 10 };
const streams = Array.from({ length: 20 }, (_, number) => number);

describe.each(storeKinds(server))("subscriptions in several parts in %s", (kind) => {
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
  /** Appends an event to each stream, and returns the position of the last one. */
  const round = async (category: string, number: number): Promise<number> => {
    let last = 0;
    for (const stream of streams) {
      last = (await app.eventStore.append(`${category}-${stream}`, { type: "Counted", data: number })).position;
    }
    return last;
  };
  /** The rounds that were handled, by stream. */
  const collect = () => {
    const seen = new Map<string, number[]>();
    const take = (event: { stream: string; data: unknown }): void => {
      seen.set(event.stream, [...(seen.get(event.stream) ?? []), event.data as number]);
    };
    return { seen, take };
  };

  it("Each event is handled once, those of a stream in order, and parts do not wait for each other", async () => {
    const { name, category } = names();
    const { seen, take } = collect();
    let running = 0;
    let most = 0;
    await round(category, 1);
    const handler = async (event: { stream: string; data: unknown }): Promise<void> => {
      most = Math.max(most, ++running);
      // The first ones wait for each other: with one part alone they would wait for ever.
      if (most < 2) await vi.waitFor(() => expect(most).toBeGreaterThan(1), patient);
      take(event);
      running--;
    };
    await using _subscription = app.eventStore.subscribe({ name, categories: [category], shards: 4 }, handler);
    await round(category, 2);
    const last = await round(category, 3);
    expect(await app.eventStore.waitFor(name, last, { timeoutMs: 150_000 })).toBe(true);
    expect([...seen.values()]).toEqual(streams.map(() => [1, 2, 3]));
  });

  it("A new number of parts continues where the earlier ones were, and so does one part after several", async () => {
    if (kind === "memory") return;
    const { name, category } = names();
    const { seen, take } = collect();
    for (const [number, shards] of [1, 3, 2, 3, 1].entries()) {
      const last = await round(category, number);
      const subscription = app.eventStore.subscribe({ name, categories: [category], shards }, take);
      expect(await app.eventStore.waitFor(name, last, { timeoutMs: 150_000 })).toBe(true);
      // The checkpoints of the other number are gone before that number is back.
      await vi.waitFor(async () => {
        const found = (await app.eventStore.storage.subscriptions()).filter((one) => one.name.startsWith(name));
        expect(found.map((one) => one.name)).toHaveLength(shards);
      }, patient);
      await subscription.close();
    }
    expect([...seen.values()]).toEqual(streams.map(() => [0, 1, 2, 3, 4]));
  });

  it("Parts find their checkpoints among more than a thousand other subscriptions", async () => {
    if (kind === "memory") return;
    const { name, category } = names();
    const { seen, take } = collect();
    // Their names come first in the order of names.
    await app.database.execute(
      `insert into stoa.subscriptions (name, position, owner, token, lease_until)
       select 'a' || n, 0, '', 1, now() from generate_series(1, 1000) n`,
    );
    for (const [number, shards] of [1, 2].entries()) {
      const last = await round(category, number);
      await using _subscription = app.eventStore.subscribe({ name, categories: [category], shards }, take);
      expect(await app.eventStore.waitFor(name, last, { timeoutMs: 150_000 })).toBe(true);
    }
    expect([...seen.values()]).toEqual(streams.map(() => [0, 1]));
    await app.database.execute("delete from stoa.subscriptions where name like 'a%'");
  });

  it("Subscriptions whose names begin alike have all of their own parts, and keep their checkpoints", async () => {
    const { name, category } = names();
    const { seen, take } = collect();
    const last = await round(category, 1);
    for (const other of [`${name} too`, `${name}#x`]) {
      const subscription = app.eventStore.subscribe({ name: other, categories: [category], shards: 2 }, () => {});
      expect(await app.eventStore.waitFor(other, last, { timeoutMs: 150_000 })).toBe(true);
      if (other.endsWith("x")) await subscription.close();
    }
    const states = async () =>
      (await app.eventStore.storage.subscriptions()).filter((one) => one.name.startsWith(name));
    const subscription = app.eventStore.subscribe({ name, categories: [category], shards: 3 }, take);
    await vi.waitFor(async () => expect((await states()).filter((one) => one.owner !== null)).toHaveLength(5), patient);
    expect(await app.eventStore.waitFor(name, last, { timeoutMs: 150_000 })).toBe(true);
    expect([...seen.values()]).toEqual(streams.map(() => [1]));
    await subscription.close();
    expect((await states()).map((one) => one.name)).toHaveLength(7);
  });

  it("A name in the form of a part is refused", () => {
    expect(() => app.eventStore.subscribe({ name: "mail#0/2" }, () => {})).toThrow("is for a shard");
    expect(() => app.eventStore.subscribe({ name: "mail", shards: 65 }, () => {})).toThrow("shards");
  });
});

describe.runIf(server)("subscriptions in several parts of several workers", () => {
  it("Workers share the parts, and take over those of one that ends", async () => {
    const place = await makePlace("postgres", server);
    const name = "shared";
    const seen = new Map<string, string[]>();
    const start = (worker: string): Promise<App> =>
      place.start({ lease: "1s" }, (one) => {
        one.eventStore.subscribe({ name, shards: 6 }, (event) => {
          seen.set(event.stream, [...(seen.get(event.stream) ?? []), `${worker}${event.data as number}`]);
        });
      });
    const [first, second] = [await start("a"), await start("b")];
    const owners = async (): Promise<number> => {
      const found = await first.eventStore.storage.subscriptions();
      const parts = found.filter((one) => one.name.startsWith(`${name}#`) && one.owner !== null);
      return parts.length === 6 ? new Set(parts.map(({ owner }) => owner)).size : 0;
    };
    await vi.waitFor(async () => expect(await owners()).toBe(2), patient);
    for (const number of [1, 2]) {
      for (const stream of streams) {
        await first.eventStore.append(`shop-${stream}`, { type: "Counted", data: number });
      }
      if (number === 1) await second.stop();
    }
    const { position } = await first.eventStore.append("shop-0", { type: "Counted", data: 3 });
    expect(await first.eventStore.waitFor(name, position, { timeoutMs: 150_000 })).toBe(true);
    const numbers = (stream: number) => seen.get(`shop-${stream}`)!.map((text) => Number(text.slice(1)));
    for (const stream of streams) expect([...new Set(numbers(stream))]).toEqual(stream === 0 ? [1, 2, 3] : [1, 2]);
    await place.drop();
  });
});
