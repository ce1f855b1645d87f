import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import postgres from "../../../scripts/services/postgres.mjs";
import { App } from "../../../src/app/app.js";
import { service } from "../../support/service.js";
import { quiet } from "./stores.js";
import { totals } from "./totals.js";

const shared = service("postgres");
const patient = { timeout: 120_000, interval: 20 };

describe.skipIf(!shared)("a server that is restarted under load", () => {
  let folder: string;
  let server: { value: string; stop(): Promise<void>; restart(): Promise<void> };
  let app: App;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-restart-"));
    server = await postgres.start({ folder, port: await freePort(), log: () => {} });
    app = new App();
    app.logger = quiet;
    app.enableDatabase({ url: server.value, poolSize: 8 }).enableEventSourcing({ lease: "1s", poll: "50ms" });
    await app.start();
  });
  afterAll(async () => {
    await app?.stop().catch(() => {});
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("No acknowledged append is lost or doubled, and subscriptions and projections continue", {
    timeout: 300_000,
  }, async () => {
    const { eventStore } = app;
    const seen = new Set<string>();
    const order: number[] = [];
    eventStore.subscribe({ name: "ledger", categories: ["order"] }, ({ id, position }) => {
      if (!seen.has(id)) order.push(position);
      seen.add(id);
    });
    const sums = totals("restart_totals", { shards: 2 });
    eventStore.project(sums);
    const acknowledged: string[] = [];
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; n < 60; n++) {
        const id = randomUUID();
        const event = { type: "ItemAdded", data: { sku: "a", price: 1 }, id };
        // The same id again: an append whose answer was lost with the server is stored once.
        for (;;) {
          try {
            await eventStore.append(`order-${writer % 3}`, event);
            break;
          } catch {
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        }
        acknowledged.push(id);
      }
    };
    const writing = Promise.all([0, 1, 2, 3, 4, 5].map(write));
    for (const reached of [60, 180]) {
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThanOrEqual(reached), patient);
      await server.restart();
    }
    await writing;

    const last = await eventStore.append("order-end", { type: "ItemAdded", data: { sku: "z", price: 1 } });
    await vi.waitFor(async () => {
      expect(await eventStore.waitFor("ledger", last.position)).toBe(true);
      expect(await eventStore.waitFor(sums, last.position)).toBe(true);
    }, patient);
    const all = await eventStore.readCategory("order");
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.length).toBe(361);
    const stored = new Set(all.map(({ id }) => id));
    for (const id of acknowledged) expect(stored.has(id)).toBe(true);
    expect(order).toEqual(all.map(({ position }) => position));
    const total = "select sum(total)::int as total, sum(events)::int as events from restart_totals";
    expect(await app.database.fetchrow(total)).toEqual({ total: 361, events: 361 });
  });
});
