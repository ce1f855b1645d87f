import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { KvStoreError, ValueError } from "stoa";
import { describe, expect, expectTypeOf, it } from "vitest";
import { service } from "../../support/service.js";
import { testStore } from "./store.js";

describe.skipIf(!service("redis"))("commands of the key-value store", () => {
  it("The store sets, gets and deletes text and bytes", async () => {
    const kv = await testStore();
    expect(await kv.get("a")).toBeNull();
    await kv.set("a", "ü 1");
    expect(await kv.get("a")).toBe("ü 1");
    const bytes = Uint8Array.of(0, 255, 128, 10, 13);
    await kv.set("b", bytes);
    expect(await kv.getBytes("b")).toEqual(Buffer.from(bytes));
    expect(await kv.has("b")).toBe(true);
    expect(await kv.delete("a", "b", "c")).toBe(2);
    expect(await kv.has("b")).toBe(false);
    expect(await kv.delete()).toBe(0);
  });

  it("The store keeps a time to live in seconds, with fractions", async () => {
    const kv = await testStore();
    await kv.set("a", "1", { ttl: 100 });
    expect(await kv.ttl("a")).toBeGreaterThan(90);
    expect(await kv.ttl("a")).toBeLessThanOrEqual(100);
    await kv.set("a", "2", { keepTtl: true });
    expect(await kv.ttl("a")).toBeGreaterThan(90);
    expect(await kv.persist("a")).toBe(true);
    expect(await kv.ttl("a")).toBe(Number.POSITIVE_INFINITY);
    expect(await kv.expire("a", 50.5)).toBe(true);
    expect(await kv.ttl("a")).toBeLessThanOrEqual(50.5);
    expect(await kv.ttl("none")).toBeNull();
    expect(await kv.expire("none", 1)).toBe(false);
  });

  it("set() can be limited to an absent or to a present key", async () => {
    const kv = await testStore();
    expect(await kv.setIfPresent("a", "0")).toBe(false);
    expect(await kv.setIfAbsent("a", "1", { ttl: 60 })).toBe(true);
    expect(await kv.setIfAbsent("a", "2")).toBe(false);
    expect(await kv.setIfPresent("a", "3")).toBe(true);
    expect(await kv.getAndSet("a", "4")).toBe("3");
    expect(await kv.getAndDelete("a")).toBe("4");
    expect(await kv.getAndDelete("a")).toBeNull();
  });

  it("The store keeps values as JSON", async () => {
    const kv = await testStore();
    await kv.setJson("user", { name: "Ada", tags: ["x"] }, { ttl: 60 });
    const user = await kv.getJson<{ name: string }>("user");
    expect(user).toEqual({ name: "Ada", tags: ["x"] });
    expect(await kv.getJson("none")).toBeNull();
    await kv.set("user", "{");
    await expect(kv.getJson("user")).rejects.toMatchObject({ name: "KvStoreError", code: "DATA" });
    expect(() => kv.setJson("user", undefined)).toThrow(ValueError);
    expect(() => kv.setJson("user", { name: Promise.resolve("Ada") })).toThrow("result.name is a promise");
  });

  it("incr() and decr() count in whole steps", async () => {
    const kv = await testStore();
    expect(await kv.incr("n")).toBe(1);
    expect(await kv.incr("n", 10)).toBe(11);
    expect(await kv.decr("n", 4)).toBe(7);
    expect(() => kv.incr("n", 0.5)).toThrow("the step must be an integer, not 0.5");
  });

  it("Several keys are set and read in one call", async () => {
    const kv = await testStore();
    await kv.mset({ a: "1", b: 2 });
    expect(await kv.mget(["b", "none", "a"])).toEqual(["2", null, "1"]);
    expect(await kv.mget([])).toEqual([]);
    await kv.mset({});
  });

  it("The store keeps hashes", async () => {
    const kv = await testStore();
    const hash = kv.hash("h");
    await hash.set({ name: "Ada", born: 1815, __proto__x: "1" });
    expect(await hash.get("name")).toBe("Ada");
    expect(await hash.all()).toEqual({ name: "Ada", born: "1815", __proto__x: "1" });
    expect(await hash.getMany(["born", "died"])).toEqual(["1815", null]);
    expect(await hash.setIfAbsent("name", "Bob")).toBe(false);
    expect(await hash.incr("born", 2)).toBe(1817);
    expect(await hash.has("born")).toBe(true);
    expect(await hash.size()).toBe(3);
    expect((await hash.fields()).sort()).toEqual(["__proto__x", "born", "name"]);
    expect(await hash.delete("born", "x")).toBe(1);
    expect(await kv.hash("none").all()).toEqual({});
  });

  it("A hash field named __proto__ is a plain field", async () => {
    const kv = await testStore();
    await kv.hash("h").set(JSON.parse('{"__proto__":"x"}'));
    const all = await kv.hash("h").all();
    expect(Object.getPrototypeOf(all)).toBe(Object.prototype);
    expect(Object.keys(all)).toEqual(["__proto__"]);
  });

  it("The store keeps lists", async () => {
    const kv = await testStore();
    const list = kv.list("l");
    expect(await list.push("b", "c")).toBe(2);
    expect(await list.unshift("z", "a")).toBe(4);
    expect(await list.range()).toEqual(["z", "a", "b", "c"]);
    expect(await list.at(-1)).toBe("c");
    expect(await list.shift()).toBe("z");
    expect(await list.pop()).toBe("c");
    expect(await list.remove("a")).toBe(1);
    await list.push("x", "y");
    await list.trim(1, -1);
    expect(await list.range()).toEqual(["x", "y"]);
    expect(await list.size()).toBe(2);
    expect(await list.push()).toBe(2);
  });

  it("The store keeps sets", async () => {
    const kv = await testStore();
    const set = kv.setOf("s");
    expect(await set.add("a", "b", "a")).toBe(2);
    expect(await set.has("a")).toBe(true);
    expect((await set.values()).sort()).toEqual(["a", "b"]);
    expect(await set.delete("a", "x")).toBe(1);
    expect(await set.size()).toBe(1);
    expect(await set.pop()).toBe("b");
    expect(await set.pop()).toBeNull();
  });

  it("The store keeps sorted sets", async () => {
    const kv = await testStore();
    const scores = kv.sortedSet("z");
    expect(await scores.add({ ada: 3, bob: 1.5, eve: Number.POSITIVE_INFINITY })).toBe(3);
    expect(await scores.range()).toEqual([
      { member: "bob", score: 1.5 },
      { member: "ada", score: 3 },
      { member: "eve", score: Number.POSITIVE_INFINITY },
    ]);
    expect((await scores.range({ reverse: true, stop: 0 }))[0]?.member).toBe("eve");
    expect((await scores.range({ start: 2 })).map(({ member }) => member)).toEqual(["eve"]);
    expect((await scores.byScore({ min: 2, limit: 1 }))[0]?.member).toBe("ada");
    expect((await scores.byScore({ min: 2, offset: 1 })).map(({ member }) => member)).toEqual(["eve"]);
    expect((await scores.byScore({ max: 10, reverse: true })).map(({ member }) => member)).toEqual(["ada", "bob"]);
    expect(await scores.incr("bob", 4)).toBe(5.5);
    expect(await scores.rank("bob")).toBe(1);
    expect(await scores.rank("bob", { reverse: true })).toBe(1);
    expect(await scores.rank("none")).toBeNull();
    expect(await scores.score("none")).toBeNull();
    expect(await scores.popMin()).toEqual({ member: "ada", score: 3 });
    expect(await scores.popMax()).toEqual({ member: "eve", score: Number.POSITIVE_INFINITY });
    expect(await scores.deleteByScore(0, 10)).toBe(1);
    expect(await scores.popMax()).toBeNull();
    expect(() => scores.add({ x: Number.NaN })).toThrow("a score must be a number, not NaN");
  });

  it("Entries of a stream have a given id, and are read and claimed up to a count", async () => {
    const kv = await testStore();
    const stream = kv.stream("counted");
    const ids = ["1-1", "1-2", "2-1"];
    for (const id of ids) expect(await stream.add({ n: id }, { id })).toBe(id);
    expect((await stream.read({ count: 2 })).map(({ id }) => id)).toEqual(["1-1", "1-2"]);
    const [ada, bob] = [stream.group("readers", "ada"), stream.group("readers", "bob")];
    await ada.create();
    expect(await ada.read()).toHaveLength(3);
    // Then each of them has been idle for longer than a millisecond, not the first ones alone.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const claimed = await bob.claim({ idle: "1ms", count: 2 });
    expect(claimed.map(({ id }) => id)).toEqual(["1-1", "1-2"]);
  });

  it("A scan finds keys of one type", async () => {
    const kv = await testStore();
    await kv.set("text", "x");
    await kv.hash("map").set({ a: "b" });
    const found: string[] = [];
    for await (const key of kv.scan({ type: "hash" })) found.push(key);
    expect(found).toEqual(["map"]);
  });

  it("The store keeps streams, which are read by all or shared in a group", async () => {
    const kv = await testStore();
    const stream = kv.stream("events");
    const first = await stream.add({ kind: "made", n: 1 });
    const second = await stream.add({ kind: "sold", n: 2 }, { maxLength: 1000 });
    expect(await stream.read()).toEqual([
      { id: first, fields: { kind: "made", n: "1" } },
      { id: second, fields: { kind: "sold", n: "2" } },
    ]);
    expect((await stream.read({ after: first })).map(({ id }) => id)).toEqual([second]);
    expect(await stream.read({ after: second })).toEqual([]);
    expect((await stream.range("-", "+", 1)).map(({ id }) => id)).toEqual([first]);

    const ada = stream.group("mailers", "ada");
    const bob = stream.group("mailers", "bob");
    await ada.create();
    await bob.create();
    expect((await ada.read({ count: 1 })).map(({ id }) => id)).toEqual([first]);
    expect((await bob.read()).map(({ id }) => id)).toEqual([second]);
    expect(await bob.read()).toEqual([]);
    expect(await ada.pending()).toBe(2);
    expect((await ada.unacknowledged()).map(({ id }) => id)).toEqual([first]);
    expect(await bob.ack(second)).toBe(1);
    // The three calls above may take less than a millisecond together.
    await sleep(5);
    expect((await bob.claim({ idle: 0.001 })).map(({ id }) => id)).toEqual([first]);
    const late = stream.group("late", "ada");
    await late.create({ from: first });
    expect((await late.read()).map(({ id }) => id)).toEqual([second]);
    expect(await bob.ack(first)).toBe(1);
    expect(await ada.pending()).toBe(0);
    expect(await stream.trim(1)).toBe(1);
    expect(await stream.delete(second)).toBe(1);
    expect(await stream.size()).toBe(0);
    expect(() => stream.add({})).toThrow("an entry of a stream needs a field");
  });

  it("A pipeline sends calls together, with typed replies", async () => {
    const kv = await testStore();
    await kv.set("name", "Ada");
    const replies = await kv.pipeline((p) => [p.get("name"), p.incr("visits"), p.has("none"), p.getBytes("name")]);
    expectTypeOf(replies).toEqualTypeOf<[string | null, number, boolean, Buffer | null]>();
    expect(replies).toEqual(["Ada", 1, false, Buffer.from("Ada")]);
    expect(await kv.pipeline(() => [])).toEqual([]);
  });

  it("A pipeline rejects with the error of a call, and has executed the others", async () => {
    const kv = await testStore();
    await kv.set("text", "x");
    const sent = kv.pipeline((p) => {
      void p.incr("text");
      return [p.incr("text"), p.incr("n")];
    });
    await expect(sent).rejects.toMatchObject({ code: "REFUSED", reply: "ERR" });
    expect(await kv.get("n")).toBe("1");
  });

  it("A transaction is executed as one, with text and bytes", async () => {
    const kv = await testStore();
    const bytes = Buffer.from([255, 0]);
    const replies = await kv.transaction((t) => [
      t.set("bytes", bytes),
      t.getBytes("bytes"),
      t.hash("h").set({ a: "1" }),
      t.hash("h").all(),
      t.sortedSet("z").add({ x: 1 }),
      t.sortedSet("z").range(),
    ]);
    expectTypeOf(replies[3]).toEqualTypeOf<Record<string, string>>();
    expect(replies).toEqual([undefined, bytes, undefined, { a: "1" }, 1, [{ member: "x", score: 1 }]]);
  });

  it("A function that does not return its calls, and a call that waits, are refused in a pipeline or transaction", async () => {
    const kv = await testStore();
    await expect(kv.pipeline((async () => []) as never)).rejects.toThrow("that returns a list of its calls");
    await expect(kv.transaction((t) => [t.list("l").waitShift(1)])).rejects.toThrow("a call that waits cannot be part");
  });

  it("A script runs by its hash, and its text is sent to a server that does not know it", async () => {
    const kv = await testStore();
    const add = kv.script<number>("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    expect(await add.run(["n"], [5])).toBe(5);
    expect(await kv.get("n")).toBe("5");
    await kv.client.call("SCRIPT", "FLUSH");
    expect(await add.run(["n"], [2])).toBe(7);
    expect(await kv.eval<string>("return ARGV[1]", [], ["x"])).toBe("x");
  });

  it("scan() finds keys without the prefix, and no keys of other prefixes", async () => {
    const kv = await testStore({ prefix: "t[e]s*t?-" });
    const other = await testStore({ prefix: "te-" });
    await other.set("user:9", "x");
    const names = Array.from({ length: 300 }, (_, i) => `user:${i}`);
    await kv.mset(Object.fromEntries(names.map((name) => [name, "1"])));
    await kv.set("else", "1");
    const found = new Set<string>();
    for await (const key of kv.scan({ match: "user:*", count: 50 })) found.add(key);
    expect([...found].sort()).toEqual(names.sort());
  });

  it("Stores with different prefixes do not share keys", async () => {
    const [one, two] = [await testStore(), await testStore()];
    await one.set("a", "1");
    expect(await two.get("a")).toBeNull();
  });

  it("Wrong keys, values and times are refused with a message", async () => {
    const kv = await testStore();
    expect(() => kv.get(7 as never)).toThrow("a key of the key-value store must be a string, not 7");
    expect(() => kv.set("a", {} as never)).toThrow("use setJson() for objects");
    expect(() => kv.set("a", Number.NaN)).toThrow("a value must be a string, a number or bytes");
    expect(() => kv.set("a", "1", { ttl: 0 })).toThrow(
      "option 'ttl' in set() must be a duration of at least 1ms, not 0",
    );
    expect(() => kv.set("a", "1", { ttl: 1, keepTtl: true })).toThrow("ttl or keepTtl");
    expect(() => kv.list("a").waitShift(0)).toThrow("the time to wait must be a duration above 0");
  });

  it("A misspelt option is refused, and nothing is written", async () => {
    const kv = await testStore();
    const [list, scores, stream] = [kv.list("l"), kv.sortedSet("z"), kv.stream("x")];
    const group = stream.group("g", "c");
    const calls: [message: string, call: () => unknown][] = [
      ["'tll' in set(); did you mean 'ttl'?", () => kv.set("a", "1", { tll: 60 } as never)],
      ["'tll' in setIfAbsent(); did you mean 'ttl'?", () => kv.setIfAbsent("a", "1", { tll: 60 } as never)],
      [
        "'keepTTL' in setIfPresent(); did you mean 'keepTtl'?",
        () => kv.setIfPresent("a", "1", { keepTTL: 1 } as never),
      ],
      ["'tll' in getAndSet(); did you mean 'ttl'?", () => kv.getAndSet("a", "1", { tll: 60 } as never)],
      ["'keep_tll' in setJson(); did you mean 'keep_ttl'?", () => kv.setJson("a", 1, { keep_tll: true } as never)],
      ["'macth' in scan(); did you mean 'match'?", () => kv.scan({ macth: "user:*" } as never).next()],
      ["'onGab' in subscribe(); did you mean 'onGap'?", () => kv.subscribe("c", () => {}, { onGab() {} } as never)],
      ["'signl' in waitShift(); did you mean 'signal'?", () => list.waitShift(1, { signl: null } as never)],
      ["'signl' in waitPop(); did you mean 'signal'?", () => list.waitPop(1, { signl: null } as never)],
      ["'reversed' in rank(); did you mean 'reverse'?", () => scores.rank("m", { reversed: true } as never)],
      ["'stopp' in range(); did you mean 'stop'?", () => scores.range({ stopp: 1 } as never)],
      ["'limt' in byScore(); did you mean 'limit'?", () => scores.byScore({ limt: 1 } as never)],
      ["'maxLenght' in add(); did you mean 'maxLength'?", () => stream.add({ n: 1 }, { maxLenght: 10 } as never)],
      ["'cuont' in read(); did you mean 'count'?", () => stream.read({ cuont: 1 } as never)],
      ["'form' in create(); did you mean 'from'?", () => group.create({ form: "$" } as never)],
      ["'blok' in read(); did you mean 'block'?", () => group.read({ blok: "1s" } as never)],
      ["'cuont' in claim(); did you mean 'count'?", () => group.claim({ idle: 1, cuont: 1 } as never)],
    ];
    for (const [message, call] of calls) {
      await expect((async () => call())(), message).rejects.toThrow(`unknown option ${message}`);
    }
    expect(await kv.delete("a", "x")).toBe(0);
  });

  it("setIfAbsent() takes no keepTtl: a key that is absent has no time to live", async () => {
    const kv = await testStore();
    for (const name of ["keepTtl", "keep_ttl"]) {
      expect(() => kv.setIfAbsent("a", "1", { [name]: true } as never)).toThrow(
        `unknown option '${name}' in setIfAbsent(); its options are ttl`,
      );
    }
    expect(await kv.has("a")).toBe(false);
    expect(await kv.setIfAbsent("a", "1", { ttl: null } as never)).toBe(true);
    expect(await kv.setIfAbsent("b", "1", null as never)).toBe(true);
    expect(() => kv.setIfAbsent("c", "1", { ttl: 0 })).toThrow("option 'ttl' in setIfAbsent() must be a duration");
  });

  it("Both spellings of an option work", async () => {
    const kv = await testStore();
    await kv.set("a", "1", { ttl: "100s" });
    await kv.set("a", "2", { keep_ttl: true } as never);
    expect(await kv.ttl("a")).toBeLessThanOrEqual(100);
  });

  it("An error of the server is reported in words, without the arguments of the call", async () => {
    const kv = await testStore();
    await kv.set("text", "top-secret");
    const error = await kv
      .list("text")
      .push("top-secret")
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KvStoreError);
    expect(error).toMatchObject({ code: "REFUSED", reply: "WRONGTYPE" });
    const { inspect } = await import("node:util");
    expect(inspect(error)).not.toContain("top-secret");
  });

  it("Every other command of ioredis is available through the client", async () => {
    const kv = await testStore();
    expect(await kv.client.call("ECHO", "hello")).toBe("hello");
    expect(await (kv.client as Redis).echo("typed")).toBe("typed");
  });

  it("Calls are spread over the connections, and calls of one turn keep their order", async () => {
    const kv = await testStore({ poolSize: 3 });
    const writes = Array.from({ length: 50 }, (_, i) => kv.set("last", i));
    await Promise.all([...writes, kv.get("last").then((last) => expect(last).toBe("49"))]);
    const ids = new Set<unknown>();
    for (let i = 0; i < 6; i++) ids.add(await kv.client.call("CLIENT", "ID"));
    expect(ids.size).toBe(3);
    expect(kv.stats()).toMatchObject({ connections: 3, ready: 3 });
  });
});
