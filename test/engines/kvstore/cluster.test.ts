import { App, KvStoreError, openKvStore, RateLimitConfig } from "stoa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { cacheTime } from "../../../src/batteries/cache/store.js";
import { KvCacheStore } from "../../../src/engines/kvstore/stores/cache.js";
import { service } from "../../support/service.js";
import { letsTimersRun } from "../../support/without-pause.js";
import { twoApps } from "./apps.js";
import { cli, type RedisCluster, startCluster, untilSettled } from "./redis-servers.js";
import { testStore, until } from "./store.js";

/** Seconds that a call may take while a master dies. A busy machine is allowed more: the test is about calls that hang. */
const shortTimeout = 1;
const longest = 10_000 * shortTimeout;

describe.skipIf(!service("redis"))("a cluster of three masters and three replicas", { timeout: 120_000 }, () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  const open = (commandTimeout = 20) => testStore({ url: cluster.url, clusterMode: true, commandTimeout });

  it("A cluster executes calls with keys of all its servers", async () => {
    const kv = await open();
    const names = Array.from({ length: 60 }, (_, i) => `k${i}`);
    await kv.mset(Object.fromEntries(names.map((name, i) => [name, i])));
    expect(await kv.mget(names)).toEqual(names.map((_, i) => String(i)));
    expect(await kv.pipeline((p) => names.slice(0, 20).map((name) => p.incr(name)))).toEqual(
      names.slice(0, 20).map((_, i) => i + 1),
    );
    const found = new Set<string>();
    for await (const key of kv.scan({ match: "k*", count: 10 })) found.add(key);
    expect(found.size).toBe(60);
    expect(await kv.delete(...names)).toBe(60);
    await kv.hash("h").set({ a: "1" });
    expect(await kv.hash("h").all()).toEqual({ a: "1" });
  });

  it("A cluster executes transactions and scripts whose keys share a slot, and refuses others with a clear error", async () => {
    const kv = await open();
    expect(await kv.transaction((t) => [t.incr("{u}:a"), t.incr("{u}:b")])).toEqual([1, 1]);
    const both = kv.script<number>("return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])");
    expect(await both.run(["{u}:a", "{u}:b"])).toBe(4);
    await expect(both.run(["a", "b"])).rejects.toBeInstanceOf(KvStoreError);
    await expect(kv.transaction((t) => [t.incr("a"), t.incr("b"), t.incr("c")])).rejects.toBeInstanceOf(KvStoreError);
    expect(await kv.lock("job", { ttl: 5 }, ({ token }) => token)).toBeGreaterThan(0);
  });

  it("A store without clusterMode fails at the start if its server is part of a cluster, also if it is not required", async () => {
    const message = `is part of a cluster: set clusterMode: true`;
    await expect(openKvStore(cluster.url)).rejects.toThrow(message);
    const app = new App().enableKvstore({ url: cluster.url, required: false });
    await expect(app.start()).rejects.toThrow(message);
    await app.stop();
  });

  it("A cluster waits for values and delivers messages", async () => {
    const kv = await open();
    const waiting = kv.list("queue").waitShift(30);
    await kv.list("queue").push("job");
    expect(await waiting).toBe("job");
    const got: string[] = [];
    await kv.subscribe("news", (message) => got.push(message));
    await until(async () => {
      await kv.publish("news", "hello");
      return got.includes("hello");
    });
  });

  it("Applications on a cluster share rate limits, cached responses and circuits", async () => {
    const options = { url: cluster.url, clusterMode: true };
    const apps = await twoApps((app) => {
      app.enableRateLimit(RateLimitConfig.slidingWindow(15, 3600));
      app.enableCircuitBreaker();
      app.get("/", () => "ok");
    }, options);
    const responses = await Promise.all(Array.from({ length: 30 }, (_, i) => apps[i % 2]!.get("/")));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(15);

    const kv = await open();
    const [one, two] = [new KvCacheStore(kv), new KvCacheStore(kv)];
    const times = { madeAt: cacheTime(), initialAgeMs: 0, date: Date.now(), freshUntil: cacheTime() + 60_000 };
    const rest = { staleWhileRevalidateMs: 0, staleIfErrorMs: 0, mayBeStale: true, size: 1, fields: [], vary: [] };
    const entry = { status: 200, type: null, body: "x", tags: ["books"], ...times, ...rest };
    const ticket = await one.begin();
    for (let i = 0; i < 40; i++) expect(await one.put(ticket, `k${i}`, entry)).toBe(true);
    for (let i = 0; i < 40; i++) expect(await two.find(`k${i}`, () => undefined)).toBeDefined();
    expect(await two.invalidate(["books"])).toBe(40);
    for (let i = 0; i < 40; i++) expect(await one.find(`k${i}`, () => undefined)).toBeUndefined();
    expect(await one.put(ticket, "k0", entry)).toBe(false);
  });

  it("Calls under load follow a slot that moves, without an error", async () => {
    const kv = await openKvStore({ url: cluster.url, clusterMode: true, commandTimeout: 20 });
    onTestFinished(() => kv.close());
    const keys = Array.from({ length: 20 }, (_, i) => `{moving}:${i}`);
    await Promise.all(keys.map((key) => kv.set(key, "0")));
    const slot = (await cli(cluster.servers[0]!.port, "cluster", "keyslot", "{moving}")).trim();
    const masters = await mastersOf(cluster.servers[0]!.port);
    const from = masters.find(({ slots }) => slots.some(([low, high]) => Number(slot) >= low && Number(slot) <= high))!;
    const to = masters.find((master) => master !== from)!;
    let moving = true;
    let sent = 0;
    const load = (async () => {
      while (moving) {
        await Promise.all(keys.map((key) => kv.incr(key)));
        sent++;
      }
    })();
    await until(() => sent > 3);
    await cli(to.port, "cluster", "setslot", slot, "importing", from.id);
    await cli(from.port, "cluster", "setslot", slot, "migrating", to.id);
    for (const key of keys) await cli(from.port, "migrate", "127.0.0.1", String(to.port), key, "0", "5000");
    for (const { port } of masters) await cli(port, "cluster", "setslot", slot, "node", to.id);
    const before = sent;
    await until(() => sent > before + 3);
    moving = false;
    await load;
    for (const key of keys) expect(await kv.get(key)).toBe(String(sent));
  });

  it("Messages of a cluster are delivered after the subscriber's connection is lost, and the gap is reported", async () => {
    const kv = await open();
    const got: string[] = [];
    let gaps = 0;
    await kv.subscribe("news", (message) => got.push(message), { onGap: () => gaps++ });
    const counts = await Promise.all(cluster.servers.map(({ port }) => cli(port, "pubsub", "channels", "*news")));
    const holder = cluster.servers[counts.findIndex((count) => count.includes("news"))]!;
    // Its connection alone is broken: the cluster stays as it is.
    await cli(holder.port, "client", "kill", "type", "pubsub");
    await until(() => gaps === 1);
    await until(async () => {
      await kv.publish("news", "again");
      return got.includes("again");
    });
  });

  it("Calls to a master that does not reply fail at once after the first, and calls to others succeed", async () => {
    const kv = await open(shortTimeout);
    const masters = await mastersOf(cluster.servers[0]!.port);
    const frozen = masters.at(-1)!;
    const keyOn = async (isFrozen: boolean): Promise<string> => {
      for (let i = 0; ; i++) {
        const slot = Number(await cli(frozen.port, "cluster", "keyslot", `${kv.prefixed("")}k${i}`));
        if (frozen.slots.some(([low, high]) => slot >= low && slot <= high) === isFrozen) return `k${i}`;
      }
    };
    const [lost, kept] = [await keyOn(true), await keyOn(false)];
    const codeOf = (key: string): Promise<string> =>
      kv.get(key).then(
        () => "reply",
        (error: KvStoreError) => error.code,
      );
    for (const key of [lost, kept]) await until(async () => (await codeOf(key)) === "reply");
    const { pid } = cluster.servers.find(({ port }) => port === frozen.port)!;
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => void process.kill(pid, "SIGCONT"));
    expect([await codeOf(lost), await codeOf(lost)]).toEqual(["TIMEOUT", "UNREACHABLE"]);
    await until(async () => (await codeOf(kept)) === "reply");
    process.kill(pid, "SIGCONT");
    await until(async () => (await codeOf(lost)) === "reply");
    // It may have been replaced meanwhile, and the next test kills another.
    await untilSettled(cluster.servers);
  });

  it("A loop that calls again without a pause does not hang the process while no server replies", async () => {
    const kv = await open(shortTimeout);
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
    const statuses = () => Promise.allSettled(keys.map((key) => kv.get(key)));
    const signal = (name: NodeJS.Signals) => {
      for (const { pid } of cluster.servers) process.kill(pid, name);
    };
    await until(async () => (await statuses()).every(({ status }) => status === "fulfilled"));
    signal("SIGSTOP");
    onTestFinished(() => signal("SIGCONT"));
    await statuses();
    for (const key of keys) expect(await letsTimersRun(() => kv.get(key))).toBe(true);
    signal("SIGCONT");
    await until(async () => (await statuses()).every(({ status }) => status === "fulfilled"));
    await untilSettled(cluster.servers);
  });

  it("A master that is killed under load delays no call over the bound, and the cluster recovers", async () => {
    const kv = await open(shortTimeout);
    const masters = await mastersOf(cluster.servers[0]!.port);
    const victim = cluster.servers.find(({ port }) => port === masters[1]!.port)!;
    let slowest = 0;
    let failed = 0;
    let running = true;
    const work = async (worker: number): Promise<void> => {
      for (let i = 0; running; i++) {
        const start = performance.now();
        try {
          await kv.set(`load:${worker}:${i % 50}`, i, { ttl: 60 });
        } catch (error) {
          expect(error).toBeInstanceOf(KvStoreError);
          failed++;
        }
        slowest = Math.max(slowest, performance.now() - start);
      }
    };
    const workers = Array.from({ length: 8 }, (_, worker) => work(worker));
    await victim.kill();
    await until(() => failed > 0);
    const healthy = async (): Promise<boolean> => {
      const sets = Array.from({ length: 100 }, (_, i) => kv.set(`probe:${i}`, i, { ttl: 60 }));
      return (await Promise.allSettled(sets)).every(({ status }) => status === "fulfilled");
    };
    await until(healthy);
    running = false;
    await Promise.all(workers);
    expect(slowest).toBeLessThan(longest);
    expect(await healthy()).toBe(true);
  });
});

interface Master {
  readonly id: string;
  readonly port: number;
  readonly slots: readonly [number, number][];
}

async function mastersOf(port: number): Promise<Master[]> {
  const lines = (await cli(port, "cluster", "nodes")).trim().split("\n");
  return lines
    .map((line) => line.split(" "))
    .filter(([, , flags]) => flags!.includes("master") && !flags!.includes("fail"))
    .map(([id, address, , , , , , , ...slots]) => ({
      id: id!,
      port: Number(/:(\d+)@/.exec(address!)![1]),
      slots: slots
        .filter((slot) => !slot.startsWith("["))
        .map((slot) => {
          const [low, high = low] = slot.split("-").map(Number);
          return [low!, high!] as [number, number];
        }),
    }));
}
