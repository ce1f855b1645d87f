import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { App } from "../../../src/app/app.js";
import { ConcurrencyError } from "../../../src/patterns/events/errors.js";
import { isLong } from "../../support/long.js";
import fc from "../../support/properties.js";
import { service } from "../../support/service.js";
import { makePlace, type Place, storeKinds } from "./stores.js";

const server = service("postgres");
const runs = Number(isLong ? 300 : 25);

/** One writer's appends, in its order: a stream, a number of events, and the version it expects. */
const append = fc.record({
  stream: fc.integer({ min: 0, max: 2 }),
  count: fc.integer({ min: 1, max: 3 }),
  expected: fc.oneof(fc.constant("any"), fc.constant("none"), fc.constant("exists"), fc.integer({ min: 0, max: 6 })),
  again: fc.boolean(),
});
const writers = fc.array(fc.array(append, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });

describe.each(storeKinds(server))("a model of the event store against %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start();
  });
  afterAll(() => place.drop());

  it("Concurrent writers leave what a simple model allows: every accepted append once, in one order", async () => {
    await fc.assert(
      fc.asyncProperty(writers, async (plan) => {
        const run = `r${randomUUID().slice(0, 8)}`;
        const stored: { stream: string; ids: string[]; version: number; expected: unknown; writer: number }[] = [];
        const refused: { expected: unknown; actual: number }[] = [];
        const write = async (appends: (typeof plan)[number], writer: number): Promise<void> => {
          for (const { stream: number, count, expected, again } of appends) {
            const stream = `${run}-${number}`;
            const events = Array.from({ length: count }, () => ({ type: "E", data: writer, id: randomUUID() }));
            const options = { expectedVersion: expected as "any" };
            try {
              const { version } = await app.eventStore.append(stream, events, options);
              stored.push({ stream, ids: events.map(({ id }) => id), version, expected, writer });
              if (again) {
                const repeated = await app.eventStore.append(stream, events, options);
                expect(repeated).toMatchObject({ version, known: true });
              }
            } catch (error) {
              if (!(error instanceof ConcurrencyError)) throw error;
              refused.push({ expected, actual: error.actualVersion });
            }
          }
        };
        await Promise.all(plan.map(write));

        const all = await app.eventStore.readCategory(run);
        // Every accepted event is there once, at the version that its append was told.
        const total = stored.reduce((sum, { ids }) => sum + ids.length, 0);
        expect(all.length).toBe(total);
        const streams = grouped(all);
        for (const { stream, ids, version, expected } of stored) {
          const events = streams.get(stream)!;
          expect(events.slice(version - ids.length, version).map(({ id }) => id)).toEqual(ids);
          const before = version - ids.length;
          if (typeof expected === "number") expect(before).toBe(expected);
          if (expected === "none") expect(before).toBe(0);
          if (expected === "exists") expect(before).toBeGreaterThan(0);
        }
        // Versions have no gaps and grow with the positions; the stream by itself is the same.
        for (const [stream, events] of streams) {
          expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1));
          expect((await app.eventStore.read(stream)).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
        }
        // Nobody was refused who could have been accepted at that version.
        for (const { expected, actual } of refused) {
          if (expected === "exists") expect(actual).toBe(0);
          else if (expected === "none") expect(actual).toBeGreaterThan(0);
          else expect(actual).not.toBe(expected);
        }
      }),
      { numRuns: runs },
    );
  });
});

function grouped<T extends { stream: string }>(events: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const event of events) groups.set(event.stream, [...(groups.get(event.stream) ?? []), event]);
  return groups;
}
