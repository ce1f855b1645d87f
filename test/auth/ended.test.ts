import { App, JwtAuth, MemorySessionStore, Response, type RevocationStore, type SessionStore } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { Session } from "../../src/batteries/sessions/session.js";
import { Events } from "../batteries/rooms/events.js";
import { Client } from "../websocket/client.js";
import { RawPeer } from "../websocket/server.js";
import { secret } from "./tokens.js";

type Fields = Record<string, string>;

/** Responses of all kinds that last. The list says which of them have ended. */
function addLasting(app: App): string[] {
  const ended: string[] = [];
  app.enableRooms();
  app.websocket("/chat", async (socket) => {
    await socket.join("lobby");
    await socket.sendText("joined");
    socket.signal.addEventListener("abort", () => ended.push("signal"));
    for await (const message of socket) await app.rooms("lobby").send(message.text);
    ended.push("chat");
  });
  app.get("/room", (request) => request.rooms.stream("lobby"));
  app.get("/ticks", (request) =>
    Response.sse(async function* () {
      yield "first";
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      ended.push("ticks");
    }),
  );
  app.get("/members", async (request) => (await request.rooms("lobby").members()).count);
  return ended;
}

async function started(app: App): Promise<TestServer> {
  const server = await serve(app, { debug: false });
  onTestFinished(() => server.close());
  return server;
}

async function chat(server: TestServer, headers: Fields): Promise<Client> {
  const client = await Client.connect(`${server.url.replace("http", "ws")}/chat`, { headers });
  onTestFinished(() => client[Symbol.dispose]());
  expect(await client.next()).toBe("joined");
  return client;
}

async function post(server: TestServer, path: string, headers: Fields): Promise<globalThis.Response> {
  const response = await fetch(server.url + path, { method: "POST", headers });
  expect(response.ok).toBe(true);
  return response;
}

const endedClose = { code: 1008, reason: "The session or token has ended." };

describe("what is open with a token", () => {
  const bearer = (token: string): Fields => ({ authorization: `Bearer ${token}` });

  function tokenApp(jwt: JwtAuth): App {
    const app = new App().use(jwt);
    app.post("/logout", (request) => jwt.revoke(request));
    app.post("/refresh", (request) => jwt.refresh(request));
    return app;
  }

  it("Revoking a token closes its WebSockets with 1008 and ends its event streams, and no others", async () => {
    const jwt = new JwtAuth({ secret });
    const app = tokenApp(jwt);
    const ended = addLasting(app);
    const server = await started(app);
    const [mine, other] = [bearer(jwt.createToken({ sub: "ada" })), bearer(jwt.createToken({ sub: "ada" }))];
    const [closing, open] = [await chat(server, mine), await chat(server, other)];
    const room = await Events.open(`${server.url}/room`, undefined, mine);
    const ticks = await Events.open(`${server.url}/ticks`, undefined, mine);
    expect(await ticks.take(1)).toEqual(["first"]);
    await post(server, "/logout", mine);
    expect(await closing.closed).toEqual(endedClose);
    expect([await room.next(), await ticks.next()]).toEqual([null, null]);
    expect(ended.sort()).toEqual(["chat", "signal", "ticks"]);
    expect(await (await fetch(`${server.url}/members`, { headers: other })).text()).toBe("1");
    open.ws.send("still here");
    expect(await open.next()).toBe("still here");
  });

  it("Revoking all tokens of a subject closes their WebSockets and ends their event streams, and no others", async () => {
    const jwt = new JwtAuth({ secret });
    const app = tokenApp(jwt);
    addLasting(app);
    const server = await started(app);
    const first = await jwt.refresh(jwt.createToken({ sub: "ada" }));
    const [mine, also, other] = [first, jwt.createToken({ sub: "ada" }), jwt.createToken({ sub: "bob" })].map(bearer);
    const [closing, open] = [await chat(server, mine!), await chat(server, other!)];
    const room = await Events.open(`${server.url}/room`, undefined, also);
    await jwt.revokeAll("ada");
    expect(await closing.closed).toEqual(endedClose);
    expect(await room.next()).toBe(null);
    open.ws.send("still here");
    expect(await open.next()).toBe("still here");
  });

  it("A client that does not confirm the close has left its room when revoke() has resolved", async () => {
    const jwt = new JwtAuth({ secret });
    const app = tokenApp(jwt);
    const ended = addLasting(app);
    const server = await started(app);
    const [mine, other] = [bearer(jwt.createToken()), bearer(jwt.createToken())];
    using peer = new RawPeer(Number(new URL(server.url).port));
    const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    const upgrade = `Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}`;
    await peer.request(`GET /chat HTTP/1.1\r\n${upgrade}Authorization: ${mine["authorization"]}\r\n\r\n`);
    expect(String((await peer.frame()).payload)).toBe("joined");
    await post(server, "/logout", mine);
    expect(await (await fetch(`${server.url}/members`, { headers: other })).text()).toBe("0");
    expect(ended).toContain("signal");
    expect(await peer.closeCode()).toBe(1008);
  });

  it("A WebSocket outlives the refresh of its token, and ends when the successor is revoked", async () => {
    for (const refreshGrace of [0, 10]) {
      const jwt = new JwtAuth({ secret, refreshGrace, refreshAge: 0 });
      const app = tokenApp(jwt);
      addLasting(app);
      const server = await started(app);
      const first = jwt.createToken({ sub: "ada" });
      const socket = await chat(server, bearer(first));
      const second = await (await post(server, "/refresh", bearer(first))).text();
      const third = await (await post(server, "/refresh", bearer(second))).text();
      socket.ws.send("still here");
      expect(await socket.next()).toBe("still here");
      await post(server, "/logout", bearer(third));
      expect((await socket.closed).code).toBe(1008);
    }
  });

  it("A WebSocket ends that was opened while its token was revoked", async () => {
    const jwt = new JwtAuth({ secret });
    const token = jwt.createToken();
    const app = new App().use(jwt);
    const revoking = async (): Promise<boolean> => {
      await jwt.revoke(token);
      return true;
    };
    app.websocket("/late", { guards: [revoking] }, async (socket) => {
      await socket.recv();
    });
    const server = await started(app);
    using socket = await Client.connect(`${server.url.replace("http", "ws")}/late`, { headers: bearer(token) });
    expect((await socket.closed).code).toBe(1008);
  });

  it("A store of the application that reports nothing serves too", async () => {
    const revoked = new Set<string>();
    const revocations: RevocationStore = {
      has: async (id) => revoked.has(id),
      add: async (id) => !revoked.has(id) && !!revoked.add(id),
    };
    const jwt = new JwtAuth({ secret, revocations });
    const app = tokenApp(jwt);
    addLasting(app);
    const server = await started(app);
    const mine = bearer(jwt.createToken());
    const socket = await chat(server, mine);
    await post(server, "/logout", mine);
    expect(await socket.closed).toEqual(endedClose);
  });

  it("A token that verify() is given with a request ends the request's WebSocket", async () => {
    const jwt = new JwtAuth({ secret });
    const app = new App();
    app.websocket("/first-message", async (socket) => {
      const { sub } = await jwt.verify((await socket.recv())?.text ?? "", socket.request);
      await socket.sendText(String(sub));
      await socket.recv();
    });
    const server = await started(app);
    using socket = await Client.connect(`${server.url.replace("http", "ws")}/first-message`);
    const token = jwt.createToken({ sub: "ada" });
    socket.ws.send(token);
    expect(await socket.next()).toBe("ada");
    await jwt.revoke(token);
    expect((await socket.closed).code).toBe(1008);
  });
});

describe("what is open with a session", () => {
  function sessionApp(store: SessionStore | null): { app: App; ended: string[] } {
    const app = new App().enableSessions(store === null ? { secret: `${secret} of sessions` } : { store });
    app.use((request, next) => {
      if (request.path !== "/public") request.session.get("user");
      return next();
    });
    app.post("/login", (request) => {
      request.session.regenerate();
      request.session.set("user", "ada");
      return request.session.id;
    });
    app.post("/logout", (request) => request.session.destroy());
    app.post("/login-stream", (request) => {
      request.session.regenerate();
      return request.rooms.stream("lobby");
    });
    return { app, ended: addLasting(app) };
  }

  async function login(server: TestServer, path = "/login", headers: Fields = {}): Promise<Fields> {
    const response = await post(server, path, headers);
    return { cookie: response.headers.getSetCookie()[0]!.split(";", 1)[0]! };
  }

  class SilentStore implements SessionStore {
    readonly #inner: MemorySessionStore;
    constructor(inner = new MemorySessionStore()) {
      this.#inner = inner;
    }
    get = async (key: string) => this.#inner.get(key);
    set: SessionStore["set"] = async (...args) => this.#inner.set(...args);
    touch: SessionStore["touch"] = async (...args) => this.#inner.touch(...args);
    destroy = async (key: string) => this.#inner.destroy(key);
  }

  it.each([
    ["the memory", () => new MemorySessionStore()],
    ["a store that reports nothing", () => new SilentStore()],
    ["the cookie", () => null],
  ])("A logout closes the WebSockets and ends the event streams of a session in %s, and no others", async (_, make) => {
    const { app, ended } = sessionApp(make());
    const server = await started(app);
    const [mine, other] = [await login(server), await login(server)];
    const [closing, open] = [await chat(server, mine), await chat(server, other)];
    const ticks = await Events.open(`${server.url}/ticks`, undefined, mine);
    expect(await ticks.take(1)).toEqual(["first"]);
    await post(server, "/logout", mine);
    expect(await closing.closed).toEqual(endedClose);
    expect(await ticks.next()).toBe(null);
    expect(ended.sort()).toEqual(["chat", "signal", "ticks"]);
    open.ws.send("still here");
    expect(await open.next()).toBe("still here");
  });

  it("endSessions() ends the sessions of a user with their WebSockets and streams, and no others", async () => {
    const { app } = sessionApp(new MemorySessionStore());
    app.post("/login/{user}", (request) => {
      request.session.regenerate(request.params.user);
      request.session.set("user", request.params.user);
    });
    app.post("/renew", (request) => request.session.regenerate());
    app.post("/leave", (request) => {
      request.session.destroy();
      request.session.set("basket", 1);
    });
    app.get("/user", (request) => ({ user: request.session.get("user") ?? null }));
    const server = await started(app);
    const ada = [await login(server, "/login/ada"), await login(server, "/login/ada")];
    // The session has another id, and is still one of the user.
    ada[1] = await login(server, "/renew", ada[1]);
    // The session of a visitor who was the user is not.
    await login(server, "/leave", await login(server, "/login/ada"));
    const bob = await login(server, "/login/bob");
    const [first, second, open] = [await chat(server, ada[0]!), await chat(server, ada[1]!), await chat(server, bob)];
    const ticks = await Events.open(`${server.url}/ticks`, undefined, ada[0]);
    expect(await ticks.take(1)).toEqual(["first"]);
    const listed = await app.sessionsOf("ada");
    expect(listed.map((session) => session.get("user"))).toEqual(["ada", "ada"]);
    expect(listed[0]!.get("toString")).toBeUndefined();
    expect(Object.keys(listed[0]!)).toEqual(["id", "createdAt", "activeAt"]);
    expect(await app.endSessions("ada")).toBe(2);
    expect([await first.closed, await second.closed]).toEqual([endedClose, endedClose]);
    expect(await ticks.next()).toBe(null);
    const user = async (headers: Fields): Promise<unknown> =>
      await (await fetch(`${server.url}/user`, { headers })).json();
    expect([await user(ada[0]!), await user(ada[1]!), await user(bob)]).toEqual([
      { user: null },
      { user: null },
      { user: "bob" },
    ]);
    open.ws.send("still here");
    expect(await open.next()).toBe("still here");
    expect(await app.end_sessions("ada")).toBe(0);
    expect([(await app.sessions_of("ada")).length, (await app.sessionsOf("bob")).length]).toEqual([0, 1]);
  });

  it("A session of sessionsOf() can be ended alone, with what is open with it", async () => {
    const inner = new MemorySessionStore();
    const silent = new SilentStore(inner);
    const { app } = sessionApp(Object.assign(silent, { list: async (owner: string) => inner.list(owner) }));
    app.post("/login/ada", (request) => {
      request.session.regenerate("ada");
      return request.session.id;
    });
    const server = await started(app);
    const [one, two] = [await post(server, "/login/ada", {}), await post(server, "/login/ada", {})];
    const cookie = ({ headers }: globalThis.Response): Fields => ({
      cookie: headers.getSetCookie()[0]!.split(";", 1)[0]!,
    });
    const [first, second] = [await chat(server, cookie(one)), await chat(server, cookie(two))];
    const id = await one.text();
    await (await app.sessionsOf("ada")).find((session) => session.id === id)!.end();
    expect(await first.closed).toEqual(endedClose);
    second.ws.send("still here");
    expect(await second.next()).toBe("still here");
    expect((await app.sessionsOf("ada")).map((session) => session.id)).toEqual([await two.text()]);
  });

  it("A session that a request regenerates after endSessions() has ended it stays ended, and others go on", async () => {
    const { app } = sessionApp(new MemorySessionStore());
    app.post("/enter", (request) => {
      request.session.regenerate("ada");
      request.session.set("user", "ada");
    });
    app.post("/renew/{ended}/{user}", async (request) => {
      const { ended, user } = request.params;
      if (ended === "ended") await app.endSessions("ada");
      request.session.regenerate(user === "same" ? undefined : user);
      return { user: request.session.get("user") ?? null };
    });
    const server = await started(app);
    const renew = async (path: string): Promise<string[]> => {
      const response = await post(server, path, await login(server, "/enter"));
      expect(await response.json()).toEqual({ user: "ada" });
      return response.headers.getSetCookie();
    };
    for (const user of ["same", "ada"]) {
      expect(await renew(`/renew/ended/${user}`)).toEqual([]);
      expect(await app.endSessions("ada")).toBe(0);
      expect(await renew(`/renew/alive/${user}`)).toHaveLength(1);
      expect(await app.endSessions("ada")).toBe(1);
    }
    // The login of another user.
    expect(await renew("/renew/ended/bob")).toHaveLength(1);
    expect(await app.endSessions("bob")).toBe(1);
  });

  it("endSessions() ends what is open with a store that reports nothing, and needs a store that can do it", async () => {
    const inner = new MemorySessionStore();
    const silent = new SilentStore(inner);
    const { app } = sessionApp(Object.assign(silent, { destroyAll: async (owner: string) => inner.destroyAll(owner) }));
    app.post("/login/ada", (request) => request.session.regenerate("ada"));
    const server = await started(app);
    const socket = await chat(server, await login(server, "/login/ada"));
    expect(await app.endSessions("ada")).toBe(1);
    expect(await socket.closed).toEqual(endedClose);
    await expect(new App().endSessions("ada")).rejects.toThrow("endSessions() needs app.enableSessions()");
    for (const [store, message] of [
      [null, "a session in a cookie cannot be ended"],
      [new SilentStore(), "a store with the method destroyAll"],
    ] as const) {
      const { app: other } = sessionApp(store);
      await started(other);
      await expect(other.endSessions("ada")).rejects.toThrow(message);
      await expect(other.sessionsOf("ada")).rejects.toThrow("sessionsOf() needs a store");
    }
    for (const wrong of ["", 5, null, "x".repeat(257)]) {
      await expect(app.endSessions(wrong as string)).rejects.toThrow("endSessions() takes the id of a user");
      expect(() => new Session(null).regenerate(wrong as string)).toThrow("regenerate() takes the id of a user");
    }
  });

  it("destroy() of the store ends what is open, and a session that was not used ends nothing", async () => {
    const store = new MemorySessionStore();
    const { app } = sessionApp(store);
    app.websocket("/public", async (socket) => {
      for await (const message of socket) await socket.sendText(message.text ?? "");
    });
    const server = await started(app);
    const response = await post(server, "/login", {});
    const mine = { cookie: response.headers.getSetCookie()[0]!.split(";", 1)[0]! };
    const socket = await chat(server, mine);
    using open = await Client.connect(`${server.url.replace("http", "ws")}/public`, { headers: mine });
    store.destroy(await response.text());
    expect((await socket.closed).code).toBe(1008);
    open.ws.send("still here");
    expect(await open.next()).toBe("still here");
  });

  it("A stream outlives the regenerate() of its own request, and ends with the session that this began", async () => {
    const { app } = sessionApp(new MemorySessionStore());
    const server = await started(app);
    const before = await login(server);
    const former = await chat(server, before);
    const response = await post(server, "/login-stream", before);
    const after = { cookie: response.headers.getSetCookie()[0]!.split(";", 1)[0]! };
    expect((await former.closed).code).toBe(1008);
    await app.rooms("lobby").send("hello");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain("hello");
    await post(server, "/logout", after);
    expect((await reader.read()).done).toBe(true);
  });
});
