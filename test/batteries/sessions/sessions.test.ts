import { App, MemorySessionStore, Response, type SessionOptions, type SessionStore, type StoredSession } from "stoa";
import { serve, testClient } from "stoa/testing";
import { afterEach, describe, expect, it, vi } from "vitest";

const secret = "a secret of sessions with at least 32 bytes";

afterEach(() => {
  vi.useRealTimers();
});

/** A store over the network, as far as anybody can tell. */
class SlowStore implements SessionStore {
  readonly inner = new MemorySessionStore();
  readonly calls: string[] = [];

  async get(key: string): Promise<StoredSession | null> {
    this.calls.push("get");
    return this.inner.get(key);
  }
  async set(key: string, session: StoredSession, ttl: number): Promise<void> {
    this.calls.push("set");
    this.inner.set(key, session, ttl);
  }
  async touch(key: string, session: StoredSession, ttl: number): Promise<void> {
    this.calls.push("touch");
    this.inner.touch(key, session, ttl);
  }
  async destroy(key: string): Promise<void> {
    this.calls.push("destroy");
    this.inner.destroy(key);
  }
}

function sessionApp(options: SessionOptions): App {
  const app = new App().enableSessions(options);
  app.get("/count", (request) => {
    const count = Number(request.session.get("count") ?? 0) + 1;
    request.session.set("count", count);
    return { count, isNew: request.session.isNew };
  });
  app.get("/peek", (request) => ({ ...request.session.toJSON() }));
  app.get("/cart", (request) => {
    const cart = (request.session.get("cart") as string[] | undefined) ?? [];
    request.session.set("cart", cart);
    cart.push("book");
    return cart;
  });
  app.get("/push", (request) => (request.session.get("cart") as string[]).push("more"));
  app.get("/id", (request) => request.session.id);
  app.post("/login", (request) => {
    request.session.regenerate();
    request.session.set("user", "ada");
    return request.session.id;
  });
  app.post("/logout", (request) => request.session.destroy());
  app.get("/plain", () => "nothing");
  app.get("/broken", (request) => {
    request.session.set("count", 1000);
    throw new Error("broken");
  });
  app.logger = { ...app.logger, error() {} };
  return app;
}

const kinds: [string, () => SessionOptions][] = [
  ["an encrypted cookie", () => ({ secret })],
  ["a signed cookie", () => ({ secret, encrypted: false })],
  ["a store in memory", () => ({ store: new MemorySessionStore() })],
  ["a store that takes its time", () => ({ store: new SlowStore() })],
];

describe.each(kinds)("sessions in %s", (_name, options) => {
  it("Sessions keep the data of one client from another", async () => {
    const app = sessionApp(options());
    const [ada, bob] = [testClient(app), testClient(app)];
    expect(await (await ada.get("/count")).json()).toEqual({ count: 1, isNew: true });
    expect(await (await ada.get("/count")).json()).toEqual({ count: 2, isNew: false });
    expect(await (await bob.get("/count")).json()).toEqual({ count: 1, isNew: true });
    expect(await (await ada.get("/count")).json()).toEqual({ count: 3, isNew: false });
  });

  it("Changes inside a value of the session are stored", async () => {
    const client = testClient(sessionApp(options()));
    await client.get("/cart");
    await client.get("/push");
    expect(await (await client.get("/peek")).json()).toEqual({ cart: ["book", "more"] });
  });

  it("A session with data sets a cookie that scripts and other sites do not get", async () => {
    const client = testClient(sessionApp(options()));
    expect((await client.get("/plain")).headers.getSetCookie()).toEqual([]);
    expect((await client.get("/peek")).headers.getSetCookie()).toEqual([]);
    const response = await client.get("/count");
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^session=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("vary")).toBe("Cookie");
    expect((await client.get("/peek")).headers.getSetCookie()).toEqual([]);
    expect((await client.get("/plain")).headers.get("vary")).toBeNull();
  });

  it("A session gets another id at login, and keeps its data", async () => {
    const client = testClient(sessionApp(options()));
    await client.get("/count");
    const before = await (await client.get("/id")).text();
    const cookie = client.cookies.get("session");
    const after = await (await client.post("/login")).text();
    expect(after).not.toBe(before);
    expect(client.cookies.get("session")).not.toBe(cookie);
    expect(await (await client.get("/id")).text()).toBe(after);
    expect(await (await client.get("/peek")).json()).toEqual({ count: 1, user: "ada" });
  });

  it("The id of a session does not reveal its cookie", async () => {
    const client = testClient(sessionApp(options()));
    await client.get("/count");
    const id = await (await client.get("/id")).text();
    expect(id).toMatch(/^[\w-]{43}$/);
    expect(client.cookies.get("session")).not.toContain(id);
    expect(await (await client.get("/peek", { cookies: { session: id } })).json()).toEqual({});
  });

  it("destroy() ends the session and its cookie", async () => {
    const client = testClient(sessionApp(options()));
    await client.get("/count");
    const response = await client.post("/logout");
    expect(response.headers.getSetCookie()[0]).toMatch(/^session=; Path=\/; Max-Age=0; HttpOnly/);
    expect(client.cookies.get("session")).toBeUndefined();
    expect(await (await client.get("/peek")).json()).toEqual({});
  });

  it("A session ends after a time without use, and after an absolute time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const client = testClient(sessionApp({ ...options(), idleTimeout: 100, absoluteTimeout: 250 }));
    const counts: number[] = [];
    for (const seconds of [0, 99, 99, 49, 101]) {
      vi.setSystemTime(Date.now() + seconds * 1000);
      counts.push(((await (await client.get("/count")).json()) as { count: number }).count);
    }
    expect(counts).toEqual([1, 2, 3, 4, 1]);
    vi.setSystemTime(Date.now() + 101_000);
    expect(await (await client.get("/count")).json()).toMatchObject({ count: 1 });
  });

  it("Reading keeps a session alive, without a write each time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const given = { ...options(), idleTimeout: 100, absoluteTimeout: 10_000 };
    const client = testClient(sessionApp(given));
    await client.get("/count");
    for (let i = 0; i < 30; i++) {
      vi.setSystemTime(Date.now() + 9000);
      await client.get("/peek");
    }
    expect(await (await client.get("/peek")).json()).toEqual({ count: 1 });
    if (given.store instanceof SlowStore) {
      expect(given.store.calls.filter((call) => call === "touch").length).toBeLessThan(20);
    }
  });

  it("A session is not stored if the response is an error of the framework", async () => {
    const client = testClient(sessionApp(options()));
    await client.get("/count");
    expect((await client.get("/broken")).status).toBe(500);
    expect(await (await client.get("/peek")).json()).toEqual({ count: 1 });
  });

  it("Any other cookie gives no session", async () => {
    const client = testClient(sessionApp(options()), { keepCookies: false });
    for (const value of ["", "x", "../../etc/passwd", "A".repeat(43), "A".repeat(3000), "%00", "a.b"]) {
      const response = await client.get("/count", { headers: { cookie: `session=${value}` } });
      expect(await response.json(), value).toEqual({ count: 1, isNew: true });
      expect(response.headers.getSetCookie()[0]).not.toContain(`session=${value};`);
    }
  });

  it("A promise in a session is refused", async () => {
    const app = new App();
    app.enableSessions({ store: new MemorySessionStore() });
    app.get("/", ({ session }) => {
      expect(() => session.set("a", { b: Promise.reject(new Error("left")) })).toThrow("result.b is a promise");
      return session.toJSON();
    });
    expect(await (await app.request("/")).json()).toEqual({});
  });

  it("A session key named __proto__ is a plain key", async () => {
    const app = new App().enableSessions(options());
    app.get("/set", (request) => void request.session.set("__proto__", { admin: true }));
    app.get("/get", (request) => [request.session.get("__proto__"), request.session.get("admin")]);
    const client = testClient(app);
    await client.get("/set");
    expect(await (await client.get("/get")).json()).toEqual([{ admin: true }, null]);
  });

  it("A response object that all clients share never gets one client's cookie", async () => {
    const app = new App().enableSessions(options());
    const shared = Response.json({ shared: true });
    app.get("/set", (request) => {
      request.session.set("user", "ada");
      return shared;
    });
    app.get("/", () => shared);
    expect((await app.request("/set")).headers.getSetCookie()).toHaveLength(1);
    expect((await app.request("/")).headers.getSetCookie()).toEqual([]);
    expect((await app.request("/set")).headers.getSetCookie()).toHaveLength(1);
  });
});

describe("sessions in a store", () => {
  it("The store is read only if there is a cookie, and written only on a change", async () => {
    const store = new SlowStore();
    const client = testClient(sessionApp({ store }));
    await client.get("/plain");
    await client.get("/peek");
    expect(store.calls).toEqual([]);
    await client.get("/count");
    expect(store.calls).toEqual(["set"]);
    await client.get("/peek");
    await client.get("/count");
    expect(store.calls).toEqual(["set", "get", "get", "touch"]);
    await client.post("/login");
    expect(store.calls.slice(4)).toEqual(["get", "destroy", "set"]);
  });

  it("A cookie from before a login, or after a logout, gives no session", async () => {
    const app = sessionApp({ store: new SlowStore() });
    const client = testClient(app);
    const thief = testClient(app, { keepCookies: false });
    await client.get("/count");
    const before = client.cookies.get("session")!;
    await client.post("/login");
    expect(await (await thief.get("/peek", { cookies: { session: before } })).json()).toEqual({});
    const after = client.cookies.get("session")!;
    expect(await (await thief.get("/peek", { cookies: { session: after } })).json()).toEqual({ count: 1, user: "ada" });
    await client.post("/logout");
    expect(await (await thief.get("/peek", { cookies: { session: after } })).json()).toEqual({});
  });

  it("A destroyed session stays destroyed when an earlier request writes it", async () => {
    const app = sessionApp({ store: new SlowStore() });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    app.get("/slow", async (request) => {
      request.session.set("late", true);
      await held;
    });
    const client = testClient(app);
    await client.get("/count");
    const cookies = { session: client.cookies.get("session")! };
    const other = testClient(app, { keepCookies: false });
    const slow = other.get("/slow", { cookies });
    await client.post("/logout");
    release();
    await slow;
    expect(await (await other.get("/peek", { cookies })).json()).toEqual({});
  });

  it("The store contains a hash in place of the cookie's value", async () => {
    const keys: string[] = [];
    const inner = new MemorySessionStore();
    const store: SessionStore = {
      get: (key) => inner.get(key),
      set: (key, session, ttl) => {
        keys.push(key, JSON.stringify(session));
        inner.set(key, session, ttl);
      },
      touch: (key, session, ttl) => inner.touch(key, session, ttl),
      destroy: (key) => inner.destroy(key),
    };
    const client = testClient(sessionApp({ store }));
    await client.get("/count");
    expect(keys.join()).not.toContain(client.cookies.get("session"));
  });
});

describe("a store in memory", () => {
  const session = { created: 0, active: 0, data: {} };

  it("The store in memory holds a limited number of sessions: expired ones go first, then the oldest", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const store = new MemorySessionStore(3);
    store.set("old", session, 100);
    store.set("short", session, 1);
    store.set("new", session, 100);
    vi.setSystemTime(Date.now() + 2000);
    store.set("a", session, 100);
    expect([store.get("old"), store.get("short"), store.get("new"), store.size]).toEqual([session, null, session, 3]);
    store.set("b", session, 100);
    expect([store.get("old"), store.get("b"), store.size]).toEqual([null, session, 3]);
  });

  it("The store in memory drops the oldest sessions over its limit of bytes, and refuses one larger than the limit", () => {
    const store = new MemorySessionStore(1000, 10_000);
    const large = { created: 0, active: 0, data: { text: "x".repeat(4000) } };
    for (const key of ["a", "b", "c"]) store.set(key, large, 100);
    expect([store.get("a"), store.get("b"), store.get("c"), store.size]).toEqual([null, large, large, 2]);
    store.destroy("b");
    store.set("d", large, 100);
    expect([store.get("c"), store.get("d")]).toEqual([large, large]);
    expect(() => store.set("e", { ...large, data: { text: "x".repeat(10_000) } }, 100)).toThrow("larger than all");
    expect(() => new MemorySessionStore(0)).toThrow("the largest number of sessions");
    expect(() => new MemorySessionStore(1, 0)).toThrow("the largest number of bytes");
  });

  it("A full store accepts a session without a search through all others", () => {
    const store = new MemorySessionStore(100_000);
    for (let i = 0; i < 300_000; i++) store.set(`${i}`, session, 100);
    expect([store.size, store.get("199999"), store.get("200000")]).toEqual([100_000, null, session]);
  });

  it("The store in memory logs a warning in production", async () => {
    const warn = vi.fn();
    const app = sessionApp({ store: new MemorySessionStore() });
    app.logger = { ...app.logger, warn };
    await using _server = await serve(app, { debug: false });
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("sessions are kept in the memory of this process"));
  });
});

describe("the cookie of sessions", () => {
  it("The cookie of sessions is for HTTPS alone in production", async () => {
    await using server = await serve(sessionApp({ secret }), { debug: false });
    const response = await fetch(`${server.url}/count`);
    expect(response.headers.getSetCookie()[0]).toMatch(/; HttpOnly; Secure; SameSite=Lax$/);
  });

  it("The cookie of sessions has the prefix __Host- in production, and a cookie without the prefix is not taken for it", async () => {
    await using server = await serve(sessionApp({ secret }), { debug: false });
    const first = await fetch(`${server.url}/count`);
    const cookie = first.headers.getSetCookie()[0]!.split(";")[0]!;
    expect(cookie).toMatch(/^__Host-session=/);
    const count = async (cookie: string) => (await fetch(`${server.url}/count`, { headers: { cookie } })).text();
    expect(await count(cookie)).not.toBe(await count(cookie.replace("__Host-", "")));
  });

  it.each([
    [{ path: "/app" }, "session"],
    [{ domain: "example.com" }, "session"],
    [{ secure: false }, "session"],
    [{ name: "sid" }, "sid"],
  ])("The cookie of sessions has no added prefix in production with the options %j", async (cookie, name) => {
    await using server = await serve(sessionApp({ secret, cookie }), { debug: false });
    const response = await fetch(`${server.url}/count`);
    expect(response.headers.getSetCookie()[0]!.split("=")[0]).toBe(name);
  });

  it("The cookie of sessions has the prefix __Host- outside of production if it is Secure", async () => {
    const response = await sessionApp({ secret, cookie: { secure: true } }).request("/count");
    expect(response.headers.getSetCookie()[0]).toMatch(/^__Host-session=.*; Secure/);
  });

  it("A login ends the old session and stores the new one side by side", async () => {
    const store = new SlowStore();
    const app = sessionApp({ store });
    const client = testClient(app);
    await client.get("/count");
    let stored = (): void => {};
    const waits = new Promise<void>((resolve) => {
      stored = resolve;
    });
    const { set } = store;
    store.set = async (...given) => {
      stored();
      return set.apply(store, given);
    };
    store.destroy = async (key) => {
      await waits;
      store.inner.destroy(key);
    };
    expect((await client.post("/login")).status).toBe(200);
    expect(await (await client.get("/peek")).json()).toMatchObject({ user: "ada" });
  });

  it("A login fails if the old session cannot be ended or the new one cannot be stored", async () => {
    for (const broken of ["set", "destroy"] as const) {
      const store = new SlowStore();
      const client = testClient(sessionApp({ store }), { debug: false });
      await client.get("/count");
      store[broken] = () => {
        throw new Error("away");
      };
      expect((await client.post("/login")).status, broken).toBe(500);
      store[broken] = () => Promise.reject(new Error("away"));
      expect((await client.post("/login")).status, broken).toBe(500);
    }
  });

  it("The cookie of sessions can be open to scripts, and be kept by site", async () => {
    const cookieOf = async (cookie: SessionOptions["cookie"]): Promise<string> =>
      (await sessionApp({ secret, ...(cookie && { cookie }) }).request("/count")).headers.getSetCookie()[0]!;
    expect(await cookieOf(undefined)).toMatch(/; HttpOnly/);
    expect(await cookieOf({ httpOnly: false })).not.toMatch(/HttpOnly/);
    expect(await cookieOf({ secure: true, partitioned: true })).toMatch(/; Partitioned/);
  });

  it("The cookie of sessions follows the options", async () => {
    const cookie = { name: "__Host-sid", same_site: "strict", priority: "high" } as const;
    const app = sessionApp({ secret, persistent: true, idleTimeout: 60, cookie });
    const [line] = (await app.request("/count")).headers.getSetCookie();
    expect(line).toMatch(/^__Host-sid=[\w-]+; Path=\/; Max-Age=60; HttpOnly; Secure; SameSite=Strict; Priority=High$/);
  });

  it("A session that is too large for its cookie is an error, and is not silently lost", async () => {
    const app = new App().enableSessions({ secret });
    app.get("/", (request) => void request.session.set("big", "x".repeat(4000)));
    app.logger = { ...app.logger, error() {} };
    const response = await app.request("/");
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("too large for a cookie")]);
  });

  it("A cookie made with an old secret is read and replaced", async () => {
    const old = testClient(sessionApp({ secret }));
    await old.get("/count");
    const cookie = old.cookies.get("session")!;
    const rotated = testClient(sessionApp({ secret: ["the new secret of at least 32 bytes!", secret] }));
    rotated.cookies.set("session", cookie);
    expect(await (await rotated.get("/count")).json()).toEqual({ count: 2, isNew: false });
    const dropped = testClient(sessionApp({ secret: "the new secret of at least 32 bytes!" }));
    dropped.cookies.set("session", cookie);
    expect(await (await dropped.get("/count")).json()).toEqual({ count: 1, isNew: true });
  });

  it("The cookie of a session is set when a WebSocket opens, and the session is available there", async () => {
    const app = sessionApp({ store: new SlowStore() });
    app.websocket("/live", async (socket) => {
      await socket.sendJson(socket.request.session.toJSON());
      await socket.recv();
    });
    app.websocket("/new", { middleware: [{ before: (request) => void request.session.set("a", 1) }] }, () => {});
    await using client = testClient(app);
    await client.get("/count");
    const socket = await client.websocket("/live");
    expect(JSON.parse((await socket.recv())?.text ?? "")).toEqual({ count: 1 });
    await socket.close();
    client.cookies.clear();
    const fresh = await client.websocket("/new");
    expect(fresh.headers.getSetCookie()[0]).toMatch(/^session=/);
  });
});

describe("enableSessions", () => {
  it("enableSessions() refuses invalid options", () => {
    const enable = (options: unknown) => () => new App().enableSessions(options as never);
    expect(enable({ secret, store: new MemorySessionStore() })).toThrow("enableSessions takes a secret");
    expect(enable({ secret: "" })).toThrow("a secret must not be empty");
    expect(enable({ secret: [] })).toThrow("a list of secrets must not be empty");
    expect(enable({ store: {} })).toThrow("an object with get, set, touch and destroy");
    expect(enable({ secret, cookie: { name: "a b" } })).toThrow("not a valid cookie name");
    expect(enable({ secret, cookie: { name: "__Host-x", path: "/x" } })).toThrow("__Host-");
    expect(enable({ secret, cookie: { sameSite: "lax", max: 5 } })).toThrow("unknown option 'max'");
    expect(enable({ secret, idleTimeout: 1e10 })).toThrow("must be a duration from 1s to 36500d");
  });

  it("enableSessions() needs a secret, a store or a key-value store by the start", async () => {
    const app = new App().enableSessions();
    await expect(app.start()).rejects.toThrow("enableSessions takes a secret, for sessions in the cookie, or a store");
  });

  it("request.session without enableSessions() throws an error that names the call", async () => {
    const app = new App();
    app.get("/", (request) => request.session.id);
    app.logger = { ...app.logger, error() {} };
    expect(await (await app.request("/")).text()).toContain("request.session needs app.enableSessions()");
  });
});
