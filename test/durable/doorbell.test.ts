import { expect, it, vi } from "vitest";
import { Doorbell } from "../../src/durable/doorbell.js";
import type { Database } from "../../src/engines/db/database.js";
import { quiet } from "../patterns/events/stores.js";

/** Databases of several processes: a notification reaches all that listen, also its sender. */
function network(): { database: Database; sent: unknown[] } {
  const listeners: ((payload: string) => void)[] = [];
  const sent: unknown[] = [];
  const database = {
    listen: async (_channel: string, listener: (payload: string) => void) => {
      listeners.push(listener);
      return { close: async () => {} };
    },
    execute: async (_text: string, [, payload]: [string, string]) => {
      await Promise.resolve();
      sent.push(payload);
      for (const listener of listeners) listener(payload);
    },
  };
  return { database: database as unknown as Database, sent };
}

it("A ring reaches the listeners of its own process once, and those of other processes by a notification", async () => {
  const { database, sent } = network();
  const [own, other] = [new Doorbell(database, "c", quiet), new Doorbell(database, "c", quiet)];
  const rings: string[] = [];
  for (const [name, doorbell] of Object.entries({ own, other })) {
    await doorbell.open();
    doorbell.onRing(() => rings.push(name));
  }
  own.ring();
  expect(rings).toEqual(["own"]);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  await own.close();
  expect(rings).toEqual(["own", "other"]);
  await other.close();
});
