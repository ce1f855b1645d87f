import { Agent, get as httpGet } from "node:http";
import { App, ForbiddenError, HealthCheckConfig, Response } from "stoa";
import { serve, testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { registerHealthCheck } from "../../../src/batteries/health/feature.js";
import { send } from "../wire.js";

type Report = {
  status: string;
  timestamp: string;
  checks: Record<string, { status: string; duration_ms: number; message?: string }>;
  uptime_seconds: number;
  version?: string;
  system?: Record<string, unknown>;
};

async function ask(app: App, path: string): Promise<{ code: number; report: Report }> {
  const response = await app.request(path);
  return { code: response.status, report: (await response.json()) as Report };
}

/** Without its logger, whose lines about failing checks are not looked at here. */
function quietApp(): App {
  const app = new App();
  const nothing = (): void => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
  app.logger = logger;
  return app;
}

describe("health endpoints", () => {
  it("The four health endpoints respond with the contract's body", async () => {
    const app = new App().enableHealthChecks({ version: "1.2.3" });
    await using server = await serve(app);
    for (const path of ["/health", "/health/live", "/health/ready", "/health/startup"]) {
      const response = await send(server.url, path);
      expect([response.status, response.get("content-type")]).toEqual([200, "application/json"]);
      expect(response.get("cache-control")).toBe("no-store");
      const report = JSON.parse(response.text) as Report;
      expect(Object.keys(report)).toEqual(["status", "timestamp", "checks", "uptime_seconds", "version"]);
      expect(report).toMatchObject({ status: "UP", version: "1.2.3", uptime_seconds: expect.any(Number) });
      expect(new Date(report.timestamp).toISOString()).toBe(report.timestamp);
      expect((await send(server.url, path, { method: "HEAD" })).status).toBe(200);
    }
    expect((await send(server.url, "/health", { method: "POST" })).status).toBe(405);
  });

  it("The health report names an application that run() was given a name for", async () => {
    const app = new App().enableHealthChecks();
    const server = await app.run({ name: "Bookshop", port: 0, exit: false, logs: false });
    const report = (await (await fetch(`${server.url}/health`)).json()) as { name?: string };
    await server.close();
    expect(report.name).toBe("Bookshop");
  });

  it.each([
    ["a config", new HealthCheckConfig({ base_path: "/status/", include_system_info: true })],
    ["its fields", { basePath: "/status", includeSystemInfo: true }],
  ])("The health endpoints are at the path of %s", async (_, config) => {
    const app = new App().enable_health_checks(config);
    expect((await ask(app, "/status/live")).code).toBe(200);
    const { report } = await ask(app, "/status");
    expect(report.system).toMatchObject({ node_version: process.version, memory: { rss_bytes: expect.any(Number) } });
    expect((await ask(app, "/status/ready")).report.system).toBeUndefined();
    expect((await app.request("/health")).status).toBe(404);
  });

  it("The health report hides the machine by default", async () => {
    expect((await ask(new App().enableHealthChecks(null), "/health")).report.system).toBeUndefined();
  });

  it("HealthCheckConfig has both spellings", () => {
    const config = new HealthCheckConfig("/status", true);
    expect([config.base_path, config.basePath]).toEqual(["/status", "/status"]);
    expect([config.include_system_info, config.includeSystemInfo]).toEqual([true, true]);
  });

  it.each([
    [{ base_pth: "/x" }, "did you mean 'base_path'?"],
    [{ basePath: "x" }, "must be a path that begins with '/'"],
    [{ basePath: "/x/{id}" }, "must be a path without parameters"],
    [{ includeSystemInfo: "yes" }, "must be true or false"],
  ])("enableHealthChecks() refuses the options %j", (options, message) => {
    expect(() => new App().enableHealthChecks(options as never)).toThrow(message);
  });

  it("Health endpoints respond to every client, before middleware, guards and limits", async () => {
    const app = new App().enableHealthChecks().enableMetrics();
    app.use({ before: () => Response.json({ error: "who are you?" }, 401) });
    app.addGuard(() => {
      throw new ForbiddenError("not you");
    });
    app.get("/", () => "x");
    expect((await app.request("/")).status).toBe(401);
    for (const path of ["/health", "/health/live", "/health/ready", "/health/startup"]) {
      expect((await app.request(path)).status).toBe(200);
    }
  });

  it("Health responses have ids and security headers as any other", async () => {
    const app = new App().enableHealthChecks().enableRequestId().enableSecurityHeaders();
    const { headers } = await app.request("/health/live");
    expect(headers.get("x-request-id")).not.toBeNull();
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("the life of an application", () => {
  it("An application is not ready while starting and draining, always alive, and started once it was", async () => {
    const app = new App().enableHealthChecks();
    const seen: Record<string, number[]> = {};
    const look = async (phase: string): Promise<void> => {
      const codes = ["live", "ready", "startup"].map(async (probe) => (await dispatch(app, `/health/${probe}`)).status);
      seen[phase] = await Promise.all(codes);
    };
    app.onEvent("startup", () => look("starting"));
    app.onEvent("shutdown", () => look("stopped"));
    await app.start();
    await look("started");
    hostOf(app).beginDrain();
    await look("draining");
    const { body } = await dispatch(app, "/health/ready");
    expect(JSON.parse(body as string)).toMatchObject({
      status: "DOWN",
      checks: { application: { status: "DOWN", message: "the application is shutting down" } },
    });
    await app.stop();
    expect(seen).toEqual({
      starting: [200, 503, 503],
      started: [200, 200, 200],
      draining: [200, 503, 200],
      stopped: [200, 503, 200],
    });
  });

  it("Draining is reported over a connection that was open before", async () => {
    const app = new App().enableHealthChecks();
    const server = await serve(app);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const probe = (): Promise<number> =>
      new Promise((resolve, reject) => {
        httpGet(`${server.url}/health/ready`, { agent }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode!));
        }).on("error", reject);
      });
    expect(await probe()).toBe(200);
    hostOf(app).beginDrain();
    expect(await probe()).toBe(503);
    await server.close();
    agent.destroy();
  });
});

describe("checks", () => {
  it("A health check decides about readiness and the report, and never about liveness", async () => {
    const app = quietApp().enableHealthChecks();
    let up = true;
    app.healthCheck("disk", () => up);
    expect(await ask(app, "/health/ready")).toMatchObject({ code: 200, report: { status: "UP" } });
    up = false;
    expect(await ask(app, "/health/ready")).toMatchObject({
      code: 503,
      report: { status: "DOWN", checks: { disk: { status: "DOWN", duration_ms: expect.any(Number) } } },
    });
    expect((await ask(app, "/health")).code).toBe(503);
    expect((await ask(app, "/health/startup")).code).toBe(200);
    expect(await ask(app, "/health/live")).toMatchObject({ code: 200, report: { checks: {} } });
  });

  it("A health check can be assigned to other probes", async () => {
    const app = quietApp().enable_health_checks();
    app.health_check("loop", () => false, { on: ["live", "startup"] });
    expect((await ask(app, "/health/live")).code).toBe(503);
    expect((await ask(app, "/health/startup")).code).toBe(503);
    expect((await ask(app, "/health/ready")).code).toBe(200);
    expect((await ask(app, "/health")).code).toBe(503);
  });

  it("A health check reports by a status, with a message, or by throwing", async () => {
    const app = quietApp().enableHealthChecks();
    app.healthCheck("nothing", () => {});
    app.healthCheck("word", () => "DEGRADED");
    app.healthCheck("both", () => ({ status: "DEGRADED", message: "2 of 3 nodes" }));
    const { code, report } = await ask(app, "/health/ready");
    expect(code).toBe(200);
    expect(report).toMatchObject({
      status: "DEGRADED",
      checks: {
        nothing: { status: "UP" },
        word: { status: "DEGRADED" },
        both: { status: "DEGRADED", message: "2 of 3 nodes" },
      },
    });
  });

  it("A failed check that the configuration names as optional makes the application degraded, not down", async () => {
    const app = new App();
    app.enableHealthChecks({ optional: ["search"] });
    app.healthCheck("search", () => false);
    const ready = await testClient(app).get("/health/ready");
    expect([ready.status, ((await ready.json()) as { status: string }).status]).toEqual([200, "DEGRADED"]);
    const other = new App();
    other.enableHealthChecks({ optional: ["serach"] });
    other.healthCheck("search", () => false);
    await expect(other.start()).rejects.toThrow("names 'serach', which is no check: there are search");
  });

  it("A failed check that is not critical makes the application degraded, not down", async () => {
    const app = quietApp().enableHealthChecks();
    app.healthCheck("search", () => false, { critical: false });
    expect(await ask(app, "/health/ready")).toMatchObject({
      code: 200,
      report: { status: "DEGRADED", checks: { search: { status: "DOWN" } } },
    });
  });

  it("A check that hangs is DOWN after its time, has its signal aborted, and delays no other check", async () => {
    const app = quietApp().enableHealthChecks();
    let told: unknown;
    app.healthCheck(
      "stuck",
      ({ signal }) => {
        signal.addEventListener("abort", () => (told = signal.reason));
        return new Promise<never>(() => {});
      },
      { timeout: 0.05 },
    );
    app.healthCheck("well", () => true);
    const { code, report } = await ask(app, "/health/ready");
    expect(code).toBe(503);
    expect(report.checks).toMatchObject({
      stuck: { status: "DOWN", message: "no result within 0.05 s" },
      well: { status: "UP" },
    });
    expect(told).toBeInstanceOf(Error);
  });

  it("A probe shows the last result of an optional check that takes long, and does not wait for it", async () => {
    const app = quietApp().enableHealthChecks({ optional: ["broker"] });
    let hangs = true;
    const replies: (() => void)[] = [];
    const check = () => (hangs ? new Promise<void>((resolve) => replies.push(resolve)) : undefined);
    app.healthCheck("broker", check, { timeout: 600 });
    const shown = async () => {
      const { code, report } = await ask(app, "/health/ready");
      return [code, report.status, report.checks["broker"]!.status];
    };
    expect(await shown()).toEqual([200, "DEGRADED", "DOWN"]);
    hangs = false;
    for (const reply of replies) reply();
    expect(await shown()).toEqual([200, "UP", "UP"]);
    hangs = true;
    expect(await shown()).toEqual([200, "UP", "UP"]);
    for (const reply of replies) reply();
  });

  it("Health checks run concurrently", async () => {
    const app = quietApp().enableHealthChecks();
    const here: string[] = [];
    let meet!: () => void;
    const both = new Promise<void>((resolve) => (meet = resolve));
    for (const name of ["a", "b"]) {
      app.healthCheck(name, async () => {
        here.push(name);
        if (here.length === 2) meet();
        await both;
      });
    }
    expect((await ask(app, "/health/ready")).code).toBe(200);
  });

  it("A health check runs once for concurrent requests, and again for later ones", async () => {
    const app = quietApp().enableHealthChecks();
    let runs = 0;
    app.healthCheck("slow", async () => {
      runs++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    await Promise.all(Array.from({ length: 10 }, () => ask(app, "/health/ready")));
    expect(runs).toBe(1);
    await ask(app, "/health/ready");
    expect(runs).toBe(2);
  });

  it("A health check does not run again while its result is cached", async () => {
    const app = quietApp().enableHealthChecks({ cacheSeconds: 60 });
    let runs = 0;
    app.healthCheck("dear", () => void runs++);
    for (let i = 0; i < 3; i++) await ask(app, "/health/ready");
    expect(runs).toBe(1);
  });

  it("A health check is logged when it fails and when it recovers, not each time", async () => {
    const lines: string[] = [];
    const app = quietApp().enableHealthChecks();
    const line = (message: string): void => void lines.push(message);
    app.logger = { ...app.logger, info: line, warn: line };
    let up = true;
    app.healthCheck("db", () => up);
    for (const now of [true, false, false, false, true, true]) {
      up = now;
      await ask(app, "/health/ready");
    }
    expect(lines).toEqual(["health: db is DOWN", "health: db is well again"]);
  });

  it("Errors of health checks are shown in development without passwords, and not in production", async () => {
    const create = (): App =>
      quietApp()
        .enableHealthChecks()
        .healthCheck("db", () => {
          throw new Error("cannot reach postgres://app:hunter2@db.internal/books");
        });
    const developing = await serve(create(), { debug: true });
    const { text } = await send(developing.url, "/health");
    expect(JSON.parse(text).checks.db.message).toBe("cannot reach postgres://app:[redacted]@db.internal/books");
    await developing.close();
    const producing = await serve(create(), { debug: false });
    expect(JSON.parse((await send(producing.url, "/health")).text).checks.db.message).toBe("the check failed");
    await producing.close();
  });

  it("Health checks of features are listed with the others", async () => {
    const app = quietApp().enableHealthChecks();
    registerHealthCheck(hostOf(app), "engine", () => false);
    expect((await ask(app, "/health/ready")).report.checks).toMatchObject({ engine: { status: "DOWN" } });
  });

  it("A health check can have any name, once", async () => {
    const app = quietApp().enableHealthChecks();
    app.healthCheck("__proto__", () => false);
    expect(JSON.stringify((await ask(app, "/health")).report.checks)).toContain('"__proto__"');
    expect(() => app.healthCheck("__proto__", () => true)).toThrow("there is a health check '__proto__' already");
    expect(() => app.healthCheck("application", () => true)).toThrow("there is a health check 'application' already");
  });

  it.each([
    [["", () => true], "takes a name first"],
    [["x", "y"], 'takes a function second, not "y"'],
    [["x", () => true, { timout: 1 }], "did you mean 'timeout'?"],
    [["x", () => true, { on: ["redy"] }], "'on' in the health check 'x' must be a list"],
  ])("app.healthCheck() refuses %j", (args, message) => {
    expect(() => new App().healthCheck(...(args as unknown as Parameters<App["healthCheck"]>))).toThrow(message);
  });

  it("A check that returns an unknown status is down", async () => {
    const app = quietApp().enableHealthChecks();
    app.healthCheck("odd", () => "FINE" as never);
    expect((await ask(app, "/health")).report.checks["odd"]).toMatchObject({
      status: "DOWN",
      message: `the health check 'odd' gave "FINE", which is no status`,
    });
  });
});

/** Past `app.request`, which waits until the application has started. */
async function dispatch(app: App, path: string): Promise<Response> {
  const { Request } = await import("stoa");
  const { WebSource } = await import("../../../src/http/web.js");
  return hostOf(app).dispatch(new Request(new WebSource(new globalThis.Request(`http://localhost${path}`))));
}
