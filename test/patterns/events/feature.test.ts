import { afterEach, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { EventSourcingConfig } from "../../../src/patterns/events/config.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet, recorder } from "./stores.js";

const server = service("postgres");

describe("enableEventSourcing", () => {
  const apps: App[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.stop())));
  const create = (): App => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    return app;
  };

  it("The options have defaults, both spellings and the order of the contract", () => {
    expect(new EventSourcingConfig()).toMatchObject({
      storeType: "auto",
      snapshotInterval: 100,
      enableSnapshots: true,
    });
    const config = new EventSourcingConfig({ store_type: "memory", snapshot_interval: 5, enable_snapshots: false });
    expect([config.store_type, config.snapshotInterval, config.enable_snapshots]).toEqual(["memory", 5, false]);
    expect(new EventSourcingConfig("postgres", 7, false)).toMatchObject({
      snapshotInterval: 7,
      enableSnapshots: false,
    });
    expect(EventSourcingConfig.from([config])).toBe(config);
  });

  it("Policies of the archive are read in both spellings", () => {
    const policy = { category: "doc", after: "1d", closed_by: ["Closed"] };
    const { archive } = new EventSourcingConfig({ archive: [policy] as never });
    expect(archive).toEqual([{ category: "doc", after: 86_400, closedBy: ["Closed"] }]);
  });

  it("Wrong options are refused with the option in the message", () => {
    expect(() => create().enableEventSourcing({ storeType: "redis" as never })).toThrow("option 'storeType'");
    expect(() => create().enable_event_sourcing({ snapshot_interva: 3 } as never)).toThrow(
      "did you mean 'snapshot_interval'?",
    );
    expect(() => create().enableEventSourcing({ schema: 'a"b' })).toThrow("option 'schema'");
  });

  it("The event store without enableEventSourcing() or before the start throws an error that says so", async () => {
    expect(() => create().eventStore).toThrow("app.eventStore needs app.enableEventSourcing()");
    const app = create().enableEventSourcing(null);
    await expect(app.eventStore.append("a-1", { type: "A", data: 1 })).rejects.toThrow(
      "app.eventStore was used before the application was started",
    );
  });

  it("waitFor() returns false when its signal is aborted", async () => {
    const app = create().enableEventSourcing({ storeType: "memory" });
    await app.start();
    const leaving = new AbortController();
    const waiting = app.eventStore.waitFor("never", 1, { timeoutMs: "1h", signal: leaving.signal });
    leaving.abort();
    expect(await waiting).toBe(false);
  });

  it("Handlers use the event store, and an unhandled conflict is a 409 response", async () => {
    const app = create().enableEventSourcing();
    app.post("/events", async (request) =>
      request.eventStore.append("a-1", { type: "A", data: 1 }, { expectedVersion: "none" }),
    );
    expect((await app.request("/events", { method: "POST" })).status).toBe(200);
    const conflict = await app.request("/events", { method: "POST" });
    expect([conflict.status, await conflict.json()]).toEqual([
      409,
      expect.objectContaining({ detail: "the stream has version 1, but no stream was expected" }),
    ]);
  });

  it("Memory is used without a database, and the log says what is lost", async () => {
    const { logger, lines } = recorder();
    const app = create().enableEventSourcing();
    app.logger = logger;
    await app.start();
    expect(lines).toContain(
      "events are kept in memory: they are lost when the process ends, and workers do not share them",
    );
    const strict = create().enableEventSourcing("postgres");
    await expect(strict.start()).rejects.toThrow("needs app.enableDatabase()");
  });

  it.skipIf(!server)(
    "Many applications that start at the same time create the tables once, in the given schema",
    async () => {
      const { url, drop } = await makeDatabase(server!);
      try {
        const all = Array.from({ length: 6 }, () =>
          create().enableDatabase({ url, poolSize: 2 }).enableEventSourcing({ schema: "ledger" }),
        );
        await Promise.all(all.map((app) => app.start()));
        await all[0]!.eventStore.append("a-1", { type: "A", data: 1 });
        expect(await all[5]!.eventStore.streamVersion("a-1")).toBe(1);
        const versions = await all[0]!.database.fetch("select component, version from ledger.versions");
        expect(versions).toEqual([{ component: "events", version: 2 }]);
        await all[0]!.database.execute("update ledger.versions set version = 99");
        await expect(create().enableDatabase(url).enableEventSourcing({ schema: "ledger" }).start()).rejects.toThrow(
          "made by a newer stoa",
        );
        await Promise.all(apps.splice(0).map((app) => app.stop()));
      } finally {
        await drop();
      }
    },
  );

  it("Subscriptions that are added before the start run after it", async () => {
    const app = create().enableEventSourcing();
    const seen: unknown[] = [];
    app.eventStore.subscribe({ name: "early" }, (event) => seen.push(event.data));
    app.onEvent("startup", () => app.eventStore.append("a-1", { type: "A", data: 1 }));
    await app.start();
    await vi.waitFor(() => expect(seen).toEqual([1]));
  });
});
