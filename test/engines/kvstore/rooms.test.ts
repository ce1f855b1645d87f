import { describe, expect, it, onTestFinished } from "vitest";
import type { StoredMessage } from "../../../src/batteries/rooms/store.js";
import type { KvStore } from "../../../src/engines/kvstore/kvstore.js";
import { KvRoomStore } from "../../../src/engines/kvstore/stores/rooms.js";
import { service } from "../../support/service.js";
import { testStore, until } from "./store.js";

const limits = { history: 3, keepMs: 60_000, maxRooms: 10 };

function rooms(kv: KvStore): { store: KvRoomStore; heard: StoredMessage[]; changes: string[] } {
  const store = new KvRoomStore(kv);
  const heard: StoredMessage[] = [];
  const changes: string[] = [];
  store.open(limits, {
    message: (_room, message) => void heard.push(message),
    gap: () => {},
    changed: (_room, change, { id, info }) => void changes.push(`${change} ${id} ${info}`),
  });
  onTestFinished(() => store.close());
  return { store, heard, changes };
}

describe.skipIf(!service("redis"))("rooms in the key-value store", () => {
  it("A room in the key-value store passes messages on to all that watch it, with ids that grow", async () => {
    const kv = await testStore();
    const [one, two, three] = [rooms(kv), rooms(kv), rooms(kv)];
    await Promise.all([one.store.watch("lobby"), two.store.watch("lobby"), three.store.watch("other")]);
    const ids = await Promise.all([1, 2, 3, 4].map((n) => one.store.send("lobby", `{"n":${n},"ü":"{}"}`)));
    expect(new Set(ids).size).toBe(4);
    await until(() => two.heard.length === 4 && one.heard.length === 4);
    expect(two.heard).toEqual(one.heard);
    expect(two.heard[0]).toEqual({ id: Math.min(...ids), text: '{"n":1,"ü":"{}"}' });
    await three.store.send("other", "1");
    await until(() => three.heard.length === 1);
    one.store.unwatch("lobby");
  });

  it("A room in the key-value store keeps the last messages, and reports if some are gone", async () => {
    const { store } = rooms(await testStore());
    const ids: number[] = [];
    for (const text of ["1", "2", "3", "4"]) ids.push(await store.send("{a} b", text));
    const texts = async (after: number): Promise<[string, boolean]> => {
      const { messages, isIncomplete } = await store.since("{a} b", after);
      return [messages.map(({ text }) => text).join(), isIncomplete];
    };
    expect(await texts(0)).toEqual(["2,3,4", false]);
    expect(await texts(ids[0]!)).toEqual(["2,3,4", false]);
    expect(await texts(ids[0]! - 1)).toEqual(["2,3,4", true]);
    expect(await texts(ids[2]!)).toEqual(["4", false]);
    expect(await texts(ids[3]! + 1e9)).toEqual(["2,3,4", true]);
    expect(await store.since("nobody", 5)).toEqual({ messages: [], isIncomplete: true });
  });

  it("A room whose messages the server has lost reports it also when there are new ones", async () => {
    const kv = await testStore();
    const { store } = rooms(kv);
    const first = await store.send("lobby", "1");
    await kv.delete("room:{lobby}", "room:{lobby}:log");
    const second = await store.send("lobby", "2");
    const messages = [{ id: second, text: "2" }];
    expect(await store.since("lobby", first)).toEqual({ messages, isIncomplete: true });
    expect(await store.since("lobby", 0)).toEqual({ messages, isIncomplete: false });
    expect(await store.since("lobby", second)).toEqual({ messages: [], isIncomplete: false });
  });

  it("A room in the key-value store lists the clients of all processes up to a number, and counts all", async () => {
    const kv = await testStore();
    const [one, two] = [rooms(kv).store, rooms(kv).store];
    for (const store of [one, two]) await store.watch("lobby");
    await one.enter("lobby", { id: "a", info: '{"name":"Ada"}' });
    await two.enter("lobby", { id: "b", info: "null" });
    await two.enter("lobby", { id: "c", info: "null" });
    expect((await one.members("lobby", 2)).members).toHaveLength(2);
    expect((await one.members("lobby", 0)).members).toEqual([]);
    const all = await two.members("lobby", 10);
    expect(all.count).toBe(3);
    expect(all.members).toContainEqual({ id: "a", info: '{"name":"Ada"}' });
    one.exit("lobby", "a");
    await until(async () => (await two.members("lobby", 10)).count === 2);
    await two.close();
    expect(await one.members("lobby", 10)).toEqual({ count: 0, members: [] });
  });

  it("Processes that watch the members of a room learn who joins and leaves, and who was in one that died", async () => {
    const kv = await testStore();
    const [one, two] = [rooms(kv), rooms(kv)];
    for (const { store } of [one, two]) await store.watch("lobby");
    await one.store.watchMembers("lobby");
    await two.store.enter("lobby", { id: "a", info: '{"name":"Ada of B"}' });
    await two.store.enter("lobby", { id: "a", info: '{"name":"Ada of B"}' });
    two.store.exit("lobby", "a");
    two.store.exit("lobby", "a");
    // The client of a process that gave no sign of life: its time is over.
    const died = async (id: string): Promise<void> => {
      await kv
        .script("redis.call('ZADD', KEYS[1], 1, ARGV[1]) return redis.call('HSET', KEYS[2], ARGV[1], '1')")
        .run(["room:{lobby}:here", "room:{lobby}:info"], [id]);
    };
    await died("b");
    await two.store.enter("lobby", { id: "c", info: "null" });
    await died("d");
    expect((await two.store.members("lobby", 10)).count).toBe(1);
    await until(() => one.changes.length === 5);
    expect(one.changes).toEqual([
      'joined a {"name":"Ada of B"}',
      'left a {"name":"Ada of B"}',
      "left b 1",
      "joined c null",
      "left d 1",
    ]);
    expect(two.changes).toEqual([]);
  });
});
