import { App, Blueprint, JwtAuth, MemorySessionStore } from "stoa";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { AppHost } from "../../src/app/host.js";
import { type Feature, feature } from "../../src/feature/feature.js";

function recorded(name: string, order: string[], failing: string[] = []): Feature {
  const stage = (what: string) => async (): Promise<void> => {
    await null;
    order.push(`${what} ${name}`);
    if (failing.includes(what)) throw new Error(`${what} ${name}`);
  };
  return feature<object>({
    name,
    prepare: stage("prepare"),
    open: stage("open"),
    drain: stage("drain"),
    close: stage("close"),
  }) as Feature;
}

const nowhere = () => null;

function hostWith(order: string[], features: readonly Feature[]): AppHost {
  const host = new AppHost(features);
  host.logger = quiet([]);
  host.lifecycle.add("startup", () => void order.push("startup hook"), nowhere);
  host.lifecycle.add("shutdown", () => void order.push("shutdown hook"), nowhere);
  return host;
}

function quiet(warnings: string[]): AppHost["logger"] {
  const logger = {
    debug() {},
    info() {},
    warn: (message: string) => void warnings.push(message),
    error() {},
    child: () => logger,
  };
  return logger;
}

describe("the stages of features", () => {
  it("Engines open before the startup hooks and close after the shutdown hooks", async () => {
    const order: string[] = [];
    const host = hostWith(order, [recorded("a", order), recorded("b", order)]);
    await host.start();
    expect(await host.stop()).toBe(true);
    expect(order).toEqual([
      ...["prepare a", "prepare b", "open a", "open b", "startup hook"],
      ...["drain a", "drain b", "shutdown hook", "close b", "close a"],
    ]);
  });

  it("Features drain concurrently and completely before the shutdown hooks run", async () => {
    const order: string[] = [];
    const slow = (name: string): Feature => ({
      ...recorded(name, []),
      async drain() {
        order.push(`drain ${name}`);
        for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
        order.push(`${name} is drained`);
      },
    });
    const host = hostWith(order, [slow("a"), slow("b")]);
    await host.start();
    await host.stop();
    expect(order).toEqual(["startup hook", "drain a", "drain b", "a is drained", "b is drained", "shutdown hook"]);
  });

  it("Features add links to the banner, which keeps their order", () => {
    const host = hostWith([], []);
    host.link("Docs", "/docs");
    host.link("Live", "/live");
    expect(host.links()).toEqual([
      ["Docs", "/docs"],
      ["Live", "/live"],
    ]);
  });

  it("A feature that fails to open drains and closes everything that was opened", async () => {
    const order: string[] = [];
    const host = hostWith(order, [recorded("a", order), recorded("b", order, ["open"]), recorded("c", order)]);
    await expect(host.start()).rejects.toThrow("open b");
    const begun = ["prepare a", "prepare b", "prepare c", "open a", "open b"];
    expect(order).toEqual([...begun, "drain a", "drain b", "close b", "close a"]);
    expect(host.phase).toBe("starting");
  });

  it("A startup hook that fails closes the engines, once", async () => {
    const order: string[] = [];
    const host = hostWith(order, [recorded("a", order)]);
    host.lifecycle.add("startup", () => Promise.reject(new Error("no")), nowhere);
    await expect(host.start()).rejects.toThrow("no");
    await host.stop();
    expect(order.filter((line) => line === "close a")).toHaveLength(1);
  });

  it("Every stage runs at the end, and a failure is reported", async () => {
    const order: string[] = [];
    const host = hostWith(order, [recorded("a", order), recorded("b", order, ["close", "drain"])]);
    host.lifecycle.add("shutdown", () => Promise.reject(new Error("stuck")), nowhere);
    await host.start();
    expect(await host.stop()).toBe(false);
    expect(order.slice(-3)).toEqual(["shutdown hook", "close b", "close a"]);
  });

  it("Features drain once, however often the server begins to drain", async () => {
    const order: string[] = [];
    const host = hostWith(order, [recorded("a", order)]);
    await host.start();
    host.beginDrain();
    host.beginDrain();
    expect(host.phase).toBe("draining");
    await host.stop();
    expect(order.filter((line) => line === "drain a")).toHaveLength(1);
  });
});

describe("state that is kept per process", () => {
  async function warningsOf(app: App, workers: number): Promise<string[]> {
    const warnings: string[] = [];
    app.logger = quiet(warnings);
    hostOf(app).configure({ env: "development", debug: true, logs: false, requestTimeout: 30, workers });
    await app.start();
    await app.stop();
    return warnings;
  }

  const jwt = (): JwtAuth => new JwtAuth({ secret: "s".repeat(32) });

  it("State per process is logged for an application with several workers, wherever it comes from", async () => {
    const app = (): App => {
      const created = new App().enableSessions({ store: new MemorySessionStore() }).use(jwt());
      created.get("/", { cache: true }, () => "");
      return created;
    };
    expect(await warningsOf(app(), 1)).toEqual([]);
    expect(await warningsOf(app(), 3)).toEqual([
      "each of the 3 workers has its own sessions, cache, revoked tokens: enable a key-value store to share",
    ]);
  });

  it("State per process is found in middleware of routes too", async () => {
    const app = new App();
    app.get("/", { middleware: [jwt()] }, () => "");
    expect(await warningsOf(app, 2)).toEqual([
      "each of the 2 workers has its own revoked tokens: enable a key-value store to share",
    ]);
  });

  it("State per process is found in middleware of blueprints too", async () => {
    const blueprint = new Blueprint("/api").use(jwt());
    blueprint.get("/", () => "");
    expect(await warningsOf(new App().registerBlueprint(blueprint), 2)).toEqual([
      "each of the 2 workers has its own revoked tokens: enable a key-value store to share",
    ]);
  });

  it("State per process is not logged if an engine shares a store", async () => {
    const app = new App().use(jwt());
    const revoked: string[] = [];
    const store = { has: (id: string) => revoked.includes(id), add: (id: string) => revoked.push(id) > 0 };
    hostOf(app).share("revokedTokens", store);
    expect(await warningsOf(app, 2)).toEqual([]);
  });

  it("A shared store replaces the state per process", async () => {
    const auth = jwt();
    const app = new App().use(auth);
    app.get("/", () => "in");
    const revoked: string[] = [];
    const store = { has: (id: string) => revoked.includes(id), add: (id: string) => revoked.push(id) > 0 };
    hostOf(app).share("revokedTokens", store);
    const token = auth.createToken();
    const ask = async (): Promise<number> =>
      (await app.request("/", { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await ask()).toBe(200);
    await auth.revoke(token);
    expect(revoked).toHaveLength(1);
    expect(await ask()).toBe(401);
  });
});
