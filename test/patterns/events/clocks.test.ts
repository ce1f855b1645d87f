import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { service } from "../../support/service.js";
import { makePlace, type Place, storeKinds } from "./stores.js";
import { totals } from "./totals.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 10 };

// The clock of an embedded database is that of the process.
describe.each(storeKinds(server).filter((kind) => kind === "postgres"))(
  "a clock that is set, with events in %s",
  (kind) => {
    let place: Place;
    let app: App;
    beforeAll(async () => {
      place = await makePlace(kind, server);
      app = await place.start({ lease: "1s" });
    });
    afterEach(() => void vi.useRealTimers());
    afterAll(() => place.drop());

    it("Subscriptions and projections go on and handle each event once, and events have the time of the database", async () => {
      const { eventStore, database } = app;
      const seen: number[] = [];
      const sums = totals("clock_sums", {});
      eventStore.subscribe({ name: "clock", categories: ["order"] }, ({ data }) => {
        seen.push((data as { price: number }).price);
      });
      eventStore.project(sums);
      for (const [index, now] of ["2001-01-01", "2099-01-01", "2001-01-01"].entries()) {
        vi.useFakeTimers({ toFake: ["Date"], now: new Date(now) });
        const item = { type: "ItemAdded", data: { sku: "a", price: index + 1 } };
        const { position } = await eventStore.append("order-1", item);
        expect(await eventStore.waitFor("clock", position, { timeoutMs: 20_000 })).toBe(true);
        expect(await eventStore.waitFor(sums, position, { timeoutMs: 20_000 })).toBe(true);
      }
      expect(seen).toEqual([1, 2, 3]);
      expect(await database.fetch("select * from clock_sums")).toEqual([{ stream: "order-1", total: 6, events: 3 }]);
      const off = "select count(*)::int from stoa.events where abs(extract(epoch from recorded_at - now())) > 3600";
      expect(await database.fetchval(off)).toBe(0);
    });

    it("A worker whose clock is years ahead does not take the subscription of another one", async () => {
      const first = await app.eventStore.storage.claim("ahead", "a", 600_000, 0);
      expect(first).not.toBeNull();
      vi.useFakeTimers({ toFake: ["Date"], now: new Date("2099-01-01") });
      expect(await app.eventStore.storage.claim("ahead", "b", 600_000, 0)).toBeNull();
      await app.eventStore.storage.release("ahead", first!.token);
      await vi.waitFor(
        async () => expect(await app.eventStore.storage.claim("ahead", "b", 1, 0)).not.toBeNull(),
        patient,
      );
    });
  },
);
