import { describe, expect, it } from "vitest";
import { KvRevocations } from "../../../src/engines/kvstore/stores/revocations.js";
import { KvSessionStore } from "../../../src/engines/kvstore/stores/sessions.js";
import { service } from "../../support/service.js";
import { cli, serverOfTest } from "./redis-servers.js";
import { testStore, until } from "./store.js";

const later = (): number => Date.now() / 1000 + 3600;
const session = { created: 1, active: 1, data: {} };

describe.skipIf(!service("redis"))("what ends in the key-value store", () => {
  it("Revoked tokens and ended sessions are reported to all processes, and a gap after a lost connection", async () => {
    const { url } = await serverOfTest();
    const [one, two] = [await testStore({ url, prefix: "p:" }), await testStore({ url, prefix: "p:" })];
    const heard: string[] = [];
    let gaps = 0;
    const listener = { ended: (id: string) => void heard.push(id), gap: () => void gaps++ };
    new KvRevocations(two).watch(listener);
    new KvSessionStore(two).watch(listener);
    await until(() => gaps === 2);
    const revocations = new KvRevocations(one);
    await revocations.add("refreshed", later());
    await revocations.add("token", later(), "family");
    await new KvSessionStore(one).destroy("session");
    await until(() => heard.length === 2);
    expect(heard.sort()).toEqual(["family", "session"]);
    await cli(Number(new URL(url).port), "CLIENT", "KILL", "TYPE", "pubsub");
    await until(() => gaps === 4);
  });

  it("All sessions of a user are listed, however many of them have ended", async () => {
    const store = new KvSessionStore(await testStore());
    const owned = { ...session, owner: "ada" };
    const keys = Array.from({ length: 250 }, (_, index) => String(index).padStart(3, "0"));
    await Promise.all(keys.map((key) => store.set(key, owned, 60)));
    await Promise.all(keys.slice(0, 120).map((key) => store.destroy(key)));
    expect((await store.list("ada")).map(([key]) => key).sort()).toEqual(keys.slice(120));
    expect([...(await store.destroyAll("ada"))].sort()).toEqual(keys.slice(120));
  });

  it("All sessions of a user end for all processes, those that ended before are not counted, and the list expires", async () => {
    const kv = await testStore();
    const [one, two] = [new KvSessionStore(kv), new KvSessionStore(kv)];
    const heard: string[] = [];
    let listening = false;
    two.watch({ ended: (id) => void heard.push(id), gap: () => void (listening = true) });
    await until(() => listening);
    for (const key of ["a", "b", "c"]) await one.set(key, { ...session, owner: "ada" }, 60);
    await one.set("d", { ...session, owner: "bob" }, 60);
    await one.set("e", session, 60);
    expect(await two.touch("b", { ...session, owner: "ada" }, 120)).toBe(true);
    expect(await kv.ttl("sessions-of:ada")).toBeGreaterThan(60);
    await one.destroy("c");
    expect([...(await two.destroyAll("ada"))].sort()).toEqual(["a", "b"]);
    await until(() => heard.includes("a") && heard.includes("b"));
    for (const key of ["a", "b", "c"]) expect(await one.get(key)).toBe(null);
    expect(await two.touch("a", { ...session, owner: "ada" }, 60)).toBe(false);
    for (const key of ["d", "e"]) expect(await one.get(key)).toMatchObject(session);
    expect(await one.destroyAll("ada")).toEqual([]);
  });

  it("A session of a user that is regenerated while all of them are ended does not outlive them", async () => {
    const kv = await testStore();
    const [one, two] = [new KvSessionStore(kv), new KvSessionStore(kv)];
    const owned = { ...session, owner: "ada" };
    await one.set("former", owned, 60);
    const destroy = one.destroy.bind(one);
    // The other process regenerates after the sessions were listed, and before they are destroyed.
    one.destroy = async (key) => {
      if (key === "former") {
        await two.set("new", owned, 60);
        expect(await two.destroy("former")).toBe(true);
      }
      return destroy(key);
    };
    expect(await one.destroyAll("ada")).toEqual(["new"]);
    expect(await two.get("new")).toBe(null);
    expect(await two.destroy("former")).toBe(false);
  });

  it("Sessions of a user that have ended by their time leave the list with the next one", async () => {
    const kv = await testStore();
    const store = new KvSessionStore(kv);
    const owned = { ...session, owner: "ada" };
    await store.set("short", owned, 1);
    await until(async () => (await store.get("short")) === null);
    // Its second must be over too.
    await until(async () => {
      await store.set("long", owned, 60);
      return (await kv.sortedSet("sessions-of:ada").size()) === 1;
    });
  });

  it("Tokens are revoked and sessions end without the right to publish", async () => {
    const { url } = await serverOfTest();
    const { port } = new URL(url);
    await cli(Number(port), "ACL", "SETUSER", "quiet", "on", ">pw", "~*", "resetchannels", "+@all", "-publish");
    const kv = await testStore({ url: `redis://quiet:pw@127.0.0.1:${port}` });
    const revocations = new KvRevocations(kv);
    expect(await revocations.add("token", later(), "family")).toBe(true);
    expect(await revocations.has("token")).toBe(true);
    const sessions = new KvSessionStore(kv);
    await sessions.set("session", session, 60);
    await sessions.destroy("session");
    expect(await sessions.get("session")).toBe(null);
  });
});
