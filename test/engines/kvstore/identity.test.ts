import { JwtAuth, MemorySessionStore } from "stoa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { KvRevocations } from "../../../src/engines/kvstore/stores/revocations.js";
import { KvSessionStore } from "../../../src/engines/kvstore/stores/sessions.js";
import { Events } from "../../batteries/rooms/events.js";
import { service } from "../../support/service.js";
import { twoApps } from "./apps.js";
import { serverOfTest, startServer, temporaryFolder } from "./redis-servers.js";
import { testStore, until } from "./store.js";

const secret = "a secret of tokens with at least 32 bytes";

describe.skipIf(!service("redis"))("sessions in the key-value store", () => {
  it("A session in the key-value store is updated only if it exists, and can be destroyed", async () => {
    const store = new KvSessionStore(await testStore());
    const session = { created: 1, active: 2, data: { name: "Ada" } };
    expect(await store.get("k")).toBeNull();
    await store.touch("k", session, 60);
    expect(await store.get("k")).toBeNull();
    await store.set("k", session, 60);
    expect(await store.get("k")).toEqual(session);
    await store.touch("k", { ...session, active: 3 }, 60);
    expect((await store.get("k"))?.active).toBe(3);
    await store.destroy("k");
    await store.touch("k", session, 60);
    expect(await store.get("k")).toBeNull();
  });

  it("A session of one application is known to another, which can also destroy it", async () => {
    const [one, two] = await twoApps((app) => {
      app.enableSessions({ cookie: { secure: false } });
      app.get("/login", (request) => {
        request.session.set("name", "Ada");
        return "in";
      });
      app.get("/me", (request) => ({ name: request.session.get("name") ?? null }));
      app.get("/logout", (request) => {
        request.session.destroy();
        return "out";
      });
    });
    const login = await one.get("/login");
    const cookie = login.headers.getSetCookie()[0]!.split(";")[0]!;
    expect(await (await two.get("/me", { cookie })).json()).toEqual({ name: "Ada" });
    await two.get("/logout", { cookie });
    expect(await (await one.get("/me", { cookie })).json()).toEqual({ name: null });
  });

  it("Sessions stay in the store that the application names", async () => {
    const own = new MemorySessionStore();
    const [one] = await twoApps((app) => {
      app.enableSessions({ store: own, cookie: { secure: false } });
      app.get("/login", (request) => request.session.set("name", "Ada") ?? "in");
    });
    await one.get("/login");
    expect(own.size).toBe(1);
  });

  it("Requests with a session get 503 while the store is away, and others pass", async () => {
    const server = await serverOfTest();
    const [one] = await twoApps(
      (app) => {
        app.enableSessions();
        app.get("/", () => "ok");
      },
      { url: server.url },
    );
    await server.kill();
    expect((await one.get("/")).status).toBe(200);
    expect((await one.get("/", { cookie: `__Host-session=${"a".repeat(43)}` })).status).toBe(503);
  });
});

describe.skipIf(!service("redis"))("revoked tokens in the key-value store", () => {
  it("A revoked token is kept once, until it expires by itself", async () => {
    const kv = await testStore();
    const store = new KvRevocations(kv);
    const until = Date.now() / 1000 + 100;
    expect(await store.has("id")).toBe(false);
    expect(await store.add("id", until)).toBe(true);
    expect(await store.add("id", until)).toBe(false);
    expect(await store.has("id")).toBe(true);
    expect(await kv.ttl("revoked:{0}:id:id")).toBeGreaterThan(100);
    expect(await store.add("old", 0)).toBe(true);
  });

  it("A machine whose clock is ahead keeps a revoked token as long as others do", async () => {
    const kv = await testStore();
    const until = Date.now() / 1000 + 1000;
    const clock = vi.spyOn(Date, "now").mockReturnValue((until - 100) * 1000);
    onTestFinished(() => clock.mockRestore());
    await new KvRevocations(kv).add("id", until);
    expect(await kv.ttl("revoked:{0}:id:id")).toBeGreaterThan(900);
  });

  it("A token that one application revokes is refused by another", async () => {
    const [one, two] = await twoApps((app) => {
      const auth = new JwtAuth({ secret });
      app.use(auth);
      app.state["auth"] = auth;
      app.get("/", () => "in");
    });
    const token = (one.app.state["auth"] as JwtAuth).createToken({ sub: "ada" });
    const authorization = `Bearer ${token}`;
    expect((await one.get("/", { authorization })).status).toBe(200);
    expect((await two.get("/", { authorization })).status).toBe(200);
    await (one.app.state["auth"] as JwtAuth).revoke(token);
    expect((await two.get("/", { authorization })).status).toBe(401);
    expect((await one.get("/", { authorization })).status).toBe(401);
  });

  it("All tokens of a subject that one application revokes are refused by another, where their streams end", async () => {
    const [one, two] = await twoApps((app) => {
      const auth = new JwtAuth({ secret });
      app.use(auth).enableRooms();
      app.state["auth"] = auth;
      app.get("/", () => "in");
      app.get("/room", (request) => request.rooms.stream("lobby"));
    });
    const auth = one.app.state["auth"] as JwtAuth;
    const headersOf = (sub: string): { authorization: string } => ({
      authorization: `Bearer ${auth.createToken({ sub })}`,
    });
    const [ada, bob] = [headersOf("ada"), headersOf("bob")];
    const stream = await Events.open(`${two.server.url}/room`, undefined, ada);
    for (const headers of [ada, bob]) expect((await two.get("/", headers)).status).toBe(200);
    await auth.revokeAll("ada");
    expect(await stream.next()).toBe(null);
    for (const app of [one, two]) {
      expect([(await app.get("/", ada)).status, (await app.get("/", bob)).status]).toEqual([401, 200]);
      expect((await app.get("/", headersOf("ada"))).status).toBe(200);
    }
    await auth.revokeAll("ada");
    expect((await two.get("/", ada)).status).toBe(401);
  });

  it("Tokens are refused with 503 while the store of revocations is away, and accepted when it is back with its data", async () => {
    const folder = await temporaryFolder();
    const port = await freePort();
    const persistent = ["--appendonly", "yes", "--appendfsync", "always"];
    let server = await startServer(port, folder.path, persistent);
    onTestFinished(async () => {
      await server.kill();
      await folder.remove();
    });
    const auth = new JwtAuth({ secret });
    const [one] = await twoApps(
      (app) => {
        app.use(new JwtAuth({ secret }));
        app.get("/", () => "in");
      },
      { url: `redis://127.0.0.1:${port}` },
    );
    const headers = { authorization: `Bearer ${auth.createToken()}` };
    expect((await one.get("/", headers)).status).toBe(200);
    await server.kill();
    expect((await one.get("/", headers)).status).toBe(503);
    server = await startServer(port, folder.path, persistent);
    await until(async () => (await one.get("/", headers)).status === 200);
  });
});
