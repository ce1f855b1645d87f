import { App, UniqueViolation } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { PoolDatabase } from "../../../src/engines/db/pool/pool-database.js";
import { judge, sample, sumOf } from "../../batteries/metrics/scrape.js";
import { send } from "../../batteries/wire.js";
import { service } from "../../support/service.js";
import { recordingTracer } from "../spans.js";
import { emptyDatabases } from "./engines.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";
const empty = emptyDatabases(server || undefined);
const promtool = service("promtool");

/** Without its logger, whose lines about what fails are not looked at here. */
function quietApp(): App {
  const app = new App();
  const nothing = (): void => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
  app.logger = logger;
  return app;
}

type Report = { status: string; checks: Record<string, { status: string; message?: string }> };

describe("the health of a database", () => {
  it("The health of a database is part of readiness and the full report, not of liveness", async () => {
    const app = quietApp()
      .enableHealthChecks()
      .enableDatabase(await empty());
    await using wire = await serve(app);
    const checksOf = async (path: string): Promise<string[]> =>
      Object.keys((JSON.parse((await send(wire.url, path)).text) as Report).checks);
    expect(await checksOf("/health/ready")).toEqual(["application", "database"]);
    expect(await checksOf("/health")).toEqual(["application", "database"]);
    expect(await checksOf("/health/live")).toEqual([]);
    expect(await checksOf("/health/startup")).toEqual(["application"]);
  });

  it("The name of the database's health check is reserved", () => {
    const app = quietApp().enableDatabase("pglite:");
    expect(() => app.healthCheck("database", () => true)).toThrow("there is a health check 'database' already");
  });

  describe.skipIf(server === "")("a server that goes away", () => {
    let proxy: FaultProxy;
    let wire: TestServer;

    beforeEach(async () => {
      proxy = await FaultProxy.start(server);
      const app = quietApp().enableHealthChecks();
      app.enableDatabase({ url: proxy.through(server), sslmode: "disable", poolSize: 2, acquireTimeout: 0.3 });
      wire = await serve(app, { debug: false });
    });

    afterEach(async () => {
      proxy.blackHole = false;
      await wire.close();
      await proxy.close();
    });

    const ready = async (): Promise<[status: number, database: Report["checks"][string] | undefined]> => {
      const response = await send(wire.url, "/health/ready");
      return [response.status, (JSON.parse(response.text) as Report).checks["database"]];
    };

    const recovers = (): Promise<void> =>
      vi.waitFor(async () => expect(await ready()).toMatchObject([200, { status: "UP" }]), { timeout: 10_000 });

    it("The health of a database is DOWN while the server is away, and UP again afterwards", async () => {
      expect(await ready()).toMatchObject([200, { status: "UP" }]);
      await proxy.close();
      expect(await ready()).toMatchObject([503, { status: "DOWN" }]);
      expect(await ready()).toMatchObject([503, { status: "DOWN" }]);
      expect((await send(wire.url, "/health/live")).status).toBe(200);
      await proxy.open();
      await recovers();
    });

    it("The health of a database is DOWN after a bounded time if all packets are dropped, and UP again afterwards", async () => {
      proxy.blackHole = true;
      expect(await ready()).toMatchObject([503, { status: "DOWN", message: "no result within 2 s" }]);
      proxy.blackHole = false;
      await recovers();
    });
  });
});

describe("the metrics of a database", () => {
  const scrape = async (app: App): Promise<string> => (await app.request("/metrics")).text();

  /** A pool of one connection, which a test can take and give back. */
  function busyApp(): { app: App; release: () => void } {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const app = quietApp()
      .enableDatabase({ url: server || "pglite:", poolSize: 1 })
      .enableMetrics();
    app.get("/hold", async (request) => request.db.transaction(() => held).then(() => "held"));
    app.get("/one", async (request) => ({ one: await request.db.fetchval("select 1") }));
    return { app, release };
  }

  it("The metrics of a database show its connections, and the calls that wait for one", async () => {
    const { app, release } = busyApp();
    await using wire = await serve(app);
    const shown = async (): Promise<(number | undefined)[]> => {
      const { text } = await send(wire.url, "/metrics");
      return ["connections", "connections_idle", "connections_in_use", "connections_max", "calls_waiting"].map((name) =>
        sample(text, `framework_database_${name}`),
      );
    };
    expect(await shown()).toEqual([1, 1, 0, 1, 0]);
    const holding = send(wire.url, "/hold");
    await vi.waitFor(async () => expect(await shown()).toEqual([1, 0, 1, 1, 0]));
    const waiting = send(wire.url, "/one");
    await vi.waitFor(async () => expect(await shown()).toEqual([1, 0, 1, 1, 1]));
    release();
    expect([(await holding).text, (await waiting).text]).toEqual(["held", '{"one":1}']);
    expect(await shown()).toEqual([1, 1, 0, 1, 0]);
  });

  it("The metrics of a database count the application's statements, their time, and failures by class and SQLSTATE", async () => {
    const { app } = busyApp();
    await app.start();
    await app.database.transaction(async (tx) => {
      await tx.script("create temporary table books (title text unique) on commit drop");
      await tx.execute("insert into books values ($1)", ["Emma"]);
      const again = tx.transaction((inner) => inner.execute("insert into books values ($1)", ["Emma"]));
      await expect(again).rejects.toBeInstanceOf(UniqueViolation);
    });
    await expect(app.database.fetch("selec 1")).rejects.toThrow("syntax error");
    await expect(app.database.fetch("select 1", [], { signal: AbortSignal.abort() })).rejects.toThrow("cancelled");
    const text = await scrape(app);
    expect(sample(text, "framework_database_queries_total")).toBe(5);
    expect(sample(text, "framework_database_query_duration_seconds_count")).toBe(5);
    expect(sample(text, "framework_database_query_duration_seconds_sum")).toBeGreaterThan(0);
    const failures = (error: string, sqlstate: string): number | undefined =>
      sample(text, `framework_database_errors_total{error="${error}",sqlstate="${sqlstate}"}`);
    expect(failures("UniqueViolation", "23505")).toBe(1);
    expect(failures("ProgrammingError", "42601")).toBe(1);
    expect(failures("OperationalError", "57014")).toBe(1);
    expect(sumOf(text, "framework_database_errors_total")).toBe(3);
    await app.stop();
  });

  it("The metrics of a database begin with the namespace, and have its buckets", async () => {
    const app = quietApp()
      .enableMetrics({ namespace: "shop", durationBuckets: [0.5] })
      .enableDatabase("pglite:");
    const text = await scrape(app);
    expect(sample(text, "shop_database_connections_max")).toBe(1);
    expect(sample(text, 'shop_database_query_duration_seconds_bucket{le="0.5"}')).toBe(0);
    await app.stop();
  });

  it("Statements are not measured if metrics are not enabled", async () => {
    const measure = vi.spyOn(PoolDatabase.prototype, "measure");
    const app = quietApp().enableDatabase(await empty());
    await app.start();
    await app.stop();
    expect(measure).not.toHaveBeenCalled();
    measure.mockRestore();
  });

  it.skipIf(!promtool)("The metrics of a database are accepted by promtool", async () => {
    const { app } = busyApp();
    await app.start();
    await app.database.fetch("selec 1").catch(() => {});
    const text = await scrape(app);
    expect(text).toContain("# TYPE framework_database_errors_total counter");
    expect(await judge(promtool as string, text)).toBe("");
    await app.stop();
  });
});

describe("the spans of a database", () => {
  it("Each statement of the application has one span, with its text and its error", async () => {
    const app = quietApp().enableDatabase("pglite:");
    const { tracer, spans } = recordingTracer();
    hostOf(app).tracer = tracer;
    await app.start();
    await app.database.transaction((tx) => tx.fetchval("select $1::int", [1]));
    await expect(app.database.fetch("select * from missing")).rejects.toThrow("missing");
    const query = (name: string, table: string | undefined, text: string, error: unknown): object => ({
      name,
      attributes: {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.collection.name": table,
        "db.query.summary": name,
        "db.query.text": text,
        ...(error !== null && { "db.response.status_code": "42P01" }),
      },
      error,
    });
    expect(spans).toEqual([
      query("SELECT", undefined, "select $1::int", null),
      query("SELECT missing", "missing", "select * from missing", expect.objectContaining({ sqlstate: "42P01" })),
    ]);
    await app.stop();
  });
});
