import { type AddressInfo, connect, createServer } from "node:net";
import { App, JwtAuth, Response } from "stoa";
import { testClient } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { service } from "../../support/service.js";
import { letsTimersRun } from "../../support/without-pause.js";
import { type RedisServer, startServer, temporaryFolder } from "./redis-servers.js";
import { until } from "./store.js";

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
const auth = (): JwtAuth => new JwtAuth({ secret: "a secret of tokens with at least 32 bytes" });

/** A server that can be killed and started again, without its data. */
async function restartable(): Promise<{ port: number; url: string; start(): Promise<void>; server(): RedisServer }> {
  const folder = await temporaryFolder();
  const port = await freePort();
  let server: RedisServer | null = null;
  onTestFinished(async () => {
    await server?.kill();
    await folder.remove();
  });
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    server: () => server!,
    async start() {
      server = await startServer(port, folder.path);
    },
  };
}

async function applicationAt(url: string, tokens = auth()) {
  const app = new App();
  app.logger = silent;
  app.enableKvstore({ url, commandTimeout: 0.3 });
  app.enableHealthChecks();
  app.enableSessions({ cookie: { secure: false } });
  let made = 0;
  app.get("/limited", { rateLimit: { maxRequests: 2, windowSecs: 3600 } }, () => "ok");
  app.get("/denied", { rateLimit: { maxRequests: 2, windowSecs: 3600, onStoreError: "deny" } }, () => "ok");
  app.enableCaching({ ttl: 60 });
  app.get("/cached", () => ({ made: ++made }));
  app.get("/value", { cache: false }, () => app.cache.fetch("value", {}, () => ({ made: ++made })));
  app.post("/invalidate", async () => ({ count: await app.invalidateCache(["books"]) }));
  app.enableCircuitBreaker({ failureThreshold: 2, resetTimeout: 3600 });
  app.get("/failing", () => new Response("x", 500));
  app.get("/session", (request) => ({ name: request.session.get("name") ?? null }));
  app.get("/token", { middleware: [tokens] }, () => "ok");
  app.enableRooms();
  app.post("/rooms/send", (request) => request.rooms("lobby").send("hello"));
  app.post("/rooms/members", (request) => request.rooms("lobby").members());
  app.post("/rooms/history", (request) => request.rooms("lobby").history());
  app.post("/rooms/subscribe", async (request) => {
    for await (const message of request.rooms("lobby").subscribe()) return message;
    return null;
  });
  await app.start();
  onTestFinished(() => app.stop());
  const client = testClient(app);
  return { app, tokens, get: client.get.bind(client), post: client.post.bind(client) };
}

type Away = "killed" | "frozen" | "absent at start";

/** An application whose store is there. */
async function presentStore() {
  const redis = await restartable();
  await redis.start();
  return { redis, ...(await applicationAt(redis.url)) };
}

/** An application whose store is away. */
async function withoutStore(away: Away) {
  const redis = await restartable();
  if (away !== "absent at start") await redis.start();
  const application = await applicationAt(redis.url);
  if (away === "killed") await redis.server().kill();
  if (away === "frozen") process.kill(redis.server().pid, "SIGSTOP");
  onTestFinished(() => {
    if (away === "frozen") process.kill(redis.server().pid, "SIGCONT");
  });
  return { redis, ...application };
}

describe.skipIf(!service("redis"))("a key-value store that is away", { timeout: 60_000 }, () => {
  describe.each<Away>(["killed", "frozen", "absent at start"])("%s", (away) => {
    it("The application is ready and DEGRADED", async () => {
      const { get } = await withoutStore(away);
      const ready = await get("/health/ready");
      expect([ready.status, (await ready.json()) as unknown]).toMatchObject([
        200,
        { status: "DEGRADED", checks: { kvstore: { status: "DOWN" } } },
      ]);
    });

    it("The rate limit counts without the store, or refuses if it is told to", async () => {
      const { get } = await withoutStore(away);
      const statuses: number[] = [];
      for (let i = 0; i < 3; i++) statuses.push((await get("/limited")).status);
      expect(statuses).toEqual([200, 200, 429]);
      expect((await get("/denied")).status).toBe(503);
    });

    it("Responses and values are made for each request", async () => {
      const { get } = await withoutStore(away);
      const bodies: unknown[] = [];
      for (const path of ["/cached", "/cached", "/value", "/value"]) bodies.push(await (await get(path)).json());
      expect(bodies).toEqual([1, 2, 3, 4].map((made) => ({ made })));
    });

    it("A request that invalidates responses gets 503", async () => {
      const { post } = await withoutStore(away);
      expect((await post("/invalidate")).status).toBe(503);
    });

    it("Circuits let requests pass, however many fail", async () => {
      const { get } = await withoutStore(away);
      const statuses: number[] = [];
      for (let i = 0; i < 4; i++) statuses.push((await get("/failing")).status);
      expect(statuses).toEqual([500, 500, 500, 500]);
    });

    it("Requests with a session get 503, and others pass", async () => {
      const { get } = await withoutStore(away);
      expect((await get("/session")).status).toBe(200);
      expect((await get("/session", { headers: { cookie: `session=${"a".repeat(43)}` } })).status).toBe(503);
    });

    it("A loop that calls again without a pause does not hang the process", async () => {
      const { app } = await withoutStore(away);
      await app.kvstore.get("x").catch(() => undefined);
      expect(await letsTimersRun(() => app.kvstore.get("x"))).toBe(true);
      expect(await letsTimersRun(() => app.kvstore.pipeline((p) => [p.get("x")]))).toBe(true);
    });

    it("Requests that use a room get 503", async () => {
      const { post } = await withoutStore(away);
      for (const call of ["send", "members", "history", "subscribe"]) {
        expect((await post(`/rooms/${call}`)).status, call).toBe(503);
      }
    });

    it("Tokens get 503, because they may be revoked", async () => {
      const { get, tokens } = await withoutStore(away);
      const headers = { authorization: `Bearer ${tokens.createToken({ sub: "ada" })}` };
      expect((await get("/token", { headers })).status).toBe(503);
    });
  });

  it("A store whose memory is used up: limits are counted without it, responses are made, and what must be kept gets 503", async () => {
    const { app, tokens, get, post } = await presentStore();
    const token = tokens.createToken({ sub: "ada" });
    const headers = { authorization: `Bearer ${token}` };
    expect((await get("/token", { headers })).status).toBe(200);
    await app.kvstore.client.call("config", "set", "maxmemory", "1");
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await get("/limited")).status);
    expect(statuses).toEqual([200, 200, 429]);
    for (const made of [1, 2]) expect(await (await get("/cached")).json()).toEqual({ made });
    expect((await post("/invalidate")).status).toBe(503);
    await expect(tokens.revoke(token)).rejects.toMatchObject({ status: 503 });
    expect((await get("/token", { headers })).status).toBe(200);
    await app.kvstore.client.call("config", "set", "maxmemory", "0");
    await tokens.revoke(token);
    expect((await get("/token", { headers })).status).toBe(401);
  });

  it("Calls fail at once after one that got no reply in time, until the server replies again", async () => {
    const { get, redis, app } = await withoutStore("frozen");
    const reasonOf = (error: Error): string => error.message.replace(/at \S+ /, "");
    const reasons: string[] = [];
    const refused = "the key-value store does not reply";
    await until(async () => {
      await app.kvstore.get("x").catch((error: Error) => reasons.push(reasonOf(error)));
      return reasons.at(-1) === refused;
    });
    // A call of the application itself may have waited before, and have spared all of these the wait.
    for (const reason of reasons) expect(reason).toMatch(/does not reply|did not reply to \w+ in time/);
    process.kill(redis.server().pid, "SIGCONT");
    await until(() =>
      app.kvstore.get("x").then(
        () => true,
        () => false,
      ),
    );
    await until(async () => ((await (await get("/health/ready")).json()) as { status: string }).status === "UP");
  });

  it("A circuit that a process knows to be open stays open while the store is away", async () => {
    const { get, redis } = await presentStore();
    await until(async () => (await get("/failing")).status === 503);
    await redis.server().kill();
    expect((await get("/failing")).status).toBe(503);
  });

  it("A request waits for a server that does not reply once, however many features ask it", async () => {
    const redis = await restartable();
    await redis.start();
    const app = new App().enableKvstore({ url: redis.url, commandTimeout: 0.3, poolSize: 1 }).enableMetrics();
    app.logger = silent;
    app.enableSessions({ cookie: { secure: false } });
    app.enableRateLimit({ maxRequests: 1000, windowSecs: 60 }).enableCaching({ ttl: 60 }).enableCircuitBreaker();
    app.get("/", () => "ok");
    await app.start();
    onTestFinished(() => app.stop());
    // Replies come in the order of the calls: those of the start have ended.
    for (let i = 0; i < 3; i++) await app.kvstore.get("x");
    process.kill(redis.server().pid, "SIGSTOP");
    onTestFinished(() => void process.kill(redis.server().pid, "SIGCONT"));
    const failures = async (code: string): Promise<number> => {
      const text = await (await app.request("/metrics")).text();
      return Number(new RegExp(`^framework_kvstore_errors_total\\{code="${code}"\\} (\\d+)`, "m").exec(text)?.[1] ?? 0);
    };
    expect((await app.request("/")).status).toBe(200);
    expect(await failures("TIMEOUT")).toBe(1);
    expect(await failures("UNREACHABLE")).toBeGreaterThanOrEqual(2);
  });

  it("A request waits for the slow replies of all features together as long as for one call", async () => {
    const redis = await restartable();
    await redis.start();
    let delay = 0;
    const slow = createServer((client) => {
      const server = connect(redis.port, "127.0.0.1");
      client.on("data", (bytes) => server.write(bytes));
      server.on("data", (bytes) => setTimeout(() => client.destroyed || client.write(bytes), delay));
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        one.on("error", () => {});
        one.on("close", () => other.destroy());
      }
    });
    await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void slow.close());
    const { port } = slow.address() as AddressInfo;
    const app = new App().enableKvstore({ url: `redis://127.0.0.1:${port}`, commandTimeout: 3 });
    app.logger = silent;
    app.enableSessions({ cookie: { secure: false } }).enableRateLimit({ maxRequests: 1000, windowSecs: 60 });
    app.get("/", (request) => String(request.session.get("name")));
    app.get("/login", (request) => void request.session.set("name", "ada"));
    const tokens = auth();
    app.get("/token", { middleware: [tokens] }, () => "ok");
    app.get("/verified", (request) => tokens.verify(request.headers.get("x-token")!, request));
    await app.start();
    onTestFinished(() => app.stop());
    let cookie = "";
    await until(async () => {
      cookie = (await app.request("/login")).headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
      return cookie !== "";
    });
    const token = tokens.createToken({ sub: "ada" });
    const get = async (path: string, headers: Record<string, string>) => (await app.request(path, { headers })).status;
    const all = () =>
      Promise.all([
        get("/", { cookie }),
        get("/token", { authorization: `Bearer ${token}` }),
        get("/verified", { "x-token": token }),
      ]);
    const isServed = async () => (await all()).every((status) => status === 200);
    await until(isServed);
    // One reply is in time for its call, two are not in time for the request.
    delay = 1800;
    expect(await all()).toEqual([503, 503, 503]);
    delay = 0;
    await until(isServed);
  });

  it("The store is used as soon as it is up, if it was absent at the start", async () => {
    const { app, redis } = await withoutStore("absent at start");
    await redis.start();
    await until(() =>
      app.kvstore.set("x", "1").then(
        () => true,
        () => false,
      ),
    );
  });

  it("A wrong password ends the start, whether the store is required or not", async () => {
    const redis = await restartable();
    await redis.start();
    const app = new App().enableKvstore({ url: redis.url, username: "ada", password: "wrong" });
    app.logger = silent;
    await expect(app.start()).rejects.toThrow("WRONGPASS");
  });
});

describe.skipIf(!service("redis"))("a key-value store that has lost its data", { timeout: 60_000 }, () => {
  it("Revoked tokens stay refused after the store came back empty, and new tokens are accepted", async () => {
    const redis = await restartable();
    await redis.start();
    const { get, tokens } = await applicationAt(redis.url);
    const use = async (token: string): Promise<number> =>
      (await get("/token", { headers: { authorization: `Bearer ${token}` } })).status;
    const revoked = tokens.createToken({ sub: "ada" });
    const kept = tokens.createToken({ sub: "bob" });
    expect([await use(revoked), await use(kept)]).toEqual([200, 200]);
    await tokens.revoke(revoked);
    const second = Math.floor(Date.now() / 1000);
    await redis.server().kill();
    await until(() => Math.floor(Date.now() / 1000) > second);
    await redis.start();
    const seen = new Set<number>();
    await until(async () => {
      seen.add(await use(revoked));
      return seen.has(401);
    });
    expect([...seen].every((status) => status === 503 || status === 401)).toBe(true);
    // It may have been revoked too: nobody knows.
    expect(await use(kept)).toBe(401);
    expect(await use(tokens.createToken({ sub: "bob" }))).toBe(200);
  });

  it("A process that starts after the loss refuses tokens of before it too", async () => {
    const redis = await restartable();
    const tokens = auth();
    const old = tokens.createToken({ sub: "ada" });
    const second = Math.floor(Date.now() / 1000);
    await until(() => Math.floor(Date.now() / 1000) > second);
    await redis.start();
    const { get } = await applicationAt(redis.url, tokens);
    const use = async (token: string): Promise<number> =>
      (await get("/token", { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await use(old), await use(tokens.createToken({ sub: "ada" }))]).toEqual([401, 200]);
  });
});
