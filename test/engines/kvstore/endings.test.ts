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
