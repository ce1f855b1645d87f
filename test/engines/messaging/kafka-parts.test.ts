import { ResponseError } from "@platformatic/kafka";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { namesIn } from "../../../src/engines/messaging/kafka/clients.js";
import { assignPartitions } from "../../../src/engines/messaging/kafka/group/assigner.js";
import { Commits } from "../../../src/engines/messaging/kafka/group/commits.js";
import { Joining } from "../../../src/engines/messaging/kafka/group/joining.js";
import { readProgress, writeProgress } from "../../../src/engines/messaging/kafka/group/progress.js";
import { readSubscription, writeSubscription } from "../../../src/engines/messaging/kafka/group/subscription.js";
import type {
  KafkaClientConsumer,
  KafkaConnectionPool,
  KafkaJoinApi,
  KafkaLibrary,
} from "../../../src/engines/messaging/kafka/library.js";
import { Partition } from "../../../src/engines/messaging/kafka/partition.js";
import { deferred } from "../../../src/kit/deferred.js";
import fc from "../../support/properties.js";

const entry = (offset: bigint) => ({ offset, over: false });
const taken = (partition: Partition) => partition.takeCommittable(null)?.offset ?? null;

describe("the names of topics", () => {
  it("A partition without a leader does not hide the names of the topics", () => {
    const topics = [
      { name: "whole", errorCode: 0, isInternal: false, partitions: [{ errorCode: 0 }] },
      { name: "without-leader", errorCode: 0, isInternal: false, partitions: [{ errorCode: 5 }] },
      { name: "being-deleted", errorCode: 3, isInternal: false, partitions: [] },
      { name: "internal", errorCode: 0, isInternal: true, partitions: [] },
    ];
    const error = new ResponseError(3, 12, { "/topics/1/partitions/0": [5, null] }, { topics });
    expect(namesIn(error)).toEqual(["whole", "without-leader"]);
    expect(namesIn(new Error("away"))).toBeNull();
  });
});

describe("a partition", () => {
  it("A partition moves the offset only as far as all messages before it are done, in whatever order they end", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.bigInt({ min: 0n, max: 200n }), { maxLength: 100 }),
        fc.infiniteStream(fc.nat()),
        (given, picks) => {
          const offsets = given.toSorted((a, b) => Number(a - b));
          const partition = new Partition(0n);
          const open = offsets.map(entry);
          for (const each of open) partition.add(each);
          let committed = -1n;
          while (open.length > 0) {
            const [ended] = open.splice(picks.next().value! % open.length, 1);
            partition.done(ended!);
            const first = open[0]?.offset ?? 201n;
            expect(partition.size).toBe(offsets.filter((each) => each >= first).length);
            // A second result changes nothing.
            const { size } = partition;
            partition.done(ended!);
            expect(partition.size).toBe(size);
            const next = taken(partition);
            if (next !== null) {
              expect(next).toBeGreaterThan(committed);
              committed = next;
            }
            // Nothing that is not done lies before the offset.
            expect(open.every(({ offset }) => offset >= committed)).toBe(true);
          }
          if (offsets.length > 0) expect(committed).toBe(offsets.at(-1)! + 1n);
        },
      ),
    );
  });

  it("A partition takes neither a message that it has nor one before its start as new", () => {
    const partition = new Partition(5n);
    expect(partition.isNew(4n)).toBe(false);
    partition.add(entry(5n));
    expect(partition.isNew(5n)).toBe(false);
    expect(partition.isNew(6n)).toBe(true);
  });

  it("A message of a partition that is delivered again is under way with its last delivery", () => {
    const partition = new Partition(0n);
    const [first, second] = [entry(0n), entry(0n)];
    partition.add(first);
    partition.replace(first, second);
    expect(first.over).toBe(true);
    // One that is not under way stays unknown.
    partition.replace(entry(1n), first);
    expect(partition.open).toHaveLength(1);
    expect(partition.open[0]).toBe(second);
  });

  it("The next owner of a partition is told which messages behind the offset are done, in whatever order they ended", () => {
    const offsets = fc.uniqueArray(fc.bigInt({ min: 5n, max: 300n }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(offsets, fc.func(fc.boolean()), (given, isDone) => {
        const partition = new Partition(5n);
        const entries = given.toSorted((a, b) => Number(a - b)).map(entry);
        for (const each of entries) partition.add(each);
        for (const each of entries) if (isDone(each.offset)) partition.done(each);
        partition.touch();
        const { offset, metadata } = partition.takeCommittable("me", true)!;
        const progress = readProgress(offset, metadata);
        expect(progress).toMatchObject({ owner: "me", trying: null });
        const next = new Partition(offset, progress);
        const left = given.toSorted((a, b) => Number(a - b)).filter((each) => next.isNew(each));
        expect(left).toEqual(entries.filter(({ over }) => !over).map((each) => each.offset));
      }),
    );
  });

  it("The metadata of an offset fits the limit of brokers, with 20,000 messages behind it, and that of others is left alone", () => {
    const done = Array.from({ length: 30_000 }, (_, place) => BigInt(place) + 10n ** 15n);
    const metadata = writeProgress(10n ** 15n - 1n, "x".repeat(36), { offset: 10n ** 15n, deliveries: 999 }, done);
    expect(metadata.length).toBeLessThanOrEqual(4096);
    const progress = readProgress(10n ** 15n - 1n, metadata)!;
    expect(progress.trying).toEqual({ offset: 10n ** 15n, deliveries: 999 });
    expect(done.filter((offset) => progress.isDone(offset)).length).toBeGreaterThan(20_000);
    expect(progress.isDone(10n ** 15n - 1n)).toBe(false);
    for (const foreign of [null, "", "NO_METADATA", "stoa1", "stoa1 a b c", '{"offset":1}']) {
      expect(readProgress(0n, foreign)).toBe(null);
    }
  });

  it("A message that comes billions of messages later is not taken for one that is done", () => {
    const progress = readProgress(0n, writeProgress(0n, null, null, [3n]))!;
    expect(progress.isDone(3n)).toBe(true);
    for (const turns of [1n, 2n, 1000n]) expect(progress.isDone(3n + turns * 2n ** 32n)).toBe(false);
  });

  it("Messages that are done behind another are told to the group once a second, or when the consumer leaves", () => {
    const partition = new Partition(0n);
    const entries = [0n, 1n, 2n, 3n].map(entry);
    for (const each of entries) partition.add(each);
    partition.done(entries[1]!);
    expect(partition.takeCommittable(null, false, 5000)).toMatchObject({ offset: 0n });
    partition.done(entries[2]!);
    expect(partition.takeCommittable(null, false, 5999)).toBe(null);
    expect(partition.takeCommittable(null, true, 5999)).toMatchObject({ offset: 0n });
    partition.done(entries[3]!);
    expect(partition.takeCommittable(null, false, 6999)).toMatchObject({ offset: 0n });
    expect(partition.takeCommittable(null, true, 9999)).toBe(null);
  });
});

describe("commits", () => {
  const started = () => {
    // Timers alone: turns of the event loop continue.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let due: bigint | null = null;
    const done: bigint[] = [];
    let [refused, accepted, sent] = [false, 0, 0];
    let held: Promise<unknown> = Promise.resolve();
    const commits = new Commits({
      take: () => {
        const offsets = new Map(due === null ? [] : [[0, { offset: due, metadata: "" }]]);
        due = null;
        return offsets;
      },
      restore: (offsets) => {
        due ??= offsets.get(0)!.offset;
      },
      commit: async (offsets) => {
        sent++;
        await held;
        if (refused) throw Object.assign(new Error("the group is being shared"), { apiId: "REBALANCE_IN_PROGRESS" });
        done.push(...[...offsets.values()].map(({ offset }) => offset));
      },
      accepted: () => void accepted++,
      failed: () => {},
    });
    const move = (offset: bigint) => {
      due = offset;
      commits.soon();
    };
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const refuse = (value: boolean) => {
      refused = value;
    };
    const forget = () => {
      due = null;
    };
    /** Commits are sent, and not answered before the returned function is called. */
    const hold = () => {
      const { promise, resolve } = deferred<void>();
      held = promise;
      return resolve;
    };
    return { commits, done, move, turn, refuse, forget, hold, accepted: () => accepted, sent: () => sent };
  };

  it("The first offset is committed with its turn, and those of the pause after it are one commit", async () => {
    const { done, move, turn } = started();
    move(1n);
    await turn();
    await turn();
    expect(done).toEqual([1n]);
    for (const offset of [2n, 3n]) {
      move(offset);
      await turn();
    }
    expect(done).toEqual([1n]);
    await vi.advanceTimersByTimeAsync(5);
    expect(done).toEqual([1n, 3n]);
  });

  it("Commits that the group refuses are due again, until it takes them or nothing is left of them", async () => {
    const { commits, move, turn, refuse, forget, accepted } = started();
    refuse(true);
    move(1n);
    await turn();
    await turn();
    expect([commits.isRefused, accepted()]).toEqual([true, 0]);
    // The partition has gone to another: nothing is due.
    forget();
    expect(await commits.flush()).toBe(true);
    expect([commits.isRefused, accepted()]).toEqual([false, 1]);
    move(2n);
    expect(await commits.flush()).toBe(false);
    refuse(false);
    move(2n);
    expect(await commits.flush()).toBe(true);
    expect([commits.isRefused, accepted()]).toEqual([false, 2]);
  });

  it("One commit is under way at a time: the answer to an earlier one could set the offset back", async () => {
    const { commits, done, move, turn, hold, sent } = started();
    const answer = hold();
    move(1n);
    await turn();
    move(2n);
    move(3n);
    const flushed = commits.flush();
    for (let turns = 0; turns < 5; turns++) await turn();
    expect(sent()).toBe(1);
    answer();
    expect(await flushed).toBe(true);
    expect(done).toEqual([1n, 3n]);
  });

  it("A commit that the group refuses is not repeated by itself, and a flush that came meanwhile is answered", async () => {
    const { commits, move, turn, refuse, hold, sent } = started();
    const answer = hold();
    refuse(true);
    move(1n);
    await turn();
    const flushed = commits.flush();
    answer();
    expect(await flushed).toBe(false);
    expect(sent()).toBe(2);
    for (let turns = 0; turns < 5; turns++) {
      await turn();
      await vi.advanceTimersByTimeAsync(5);
    }
    expect(sent()).toBe(2);
    commits.soon();
    await turn();
    expect(sent()).toBe(3);
  });

  it("A flush of commits does not wait for the pause", async () => {
    const { commits, done, move, turn } = started();
    move(1n);
    await turn();
    await turn();
    move(2n);
    await commits.flush();
    expect(done).toEqual([1n, 2n]);
  });
});

describe("The sharing of a group", () => {
  const member = (topics: string[], owned: Record<string, number[]> = {}, generation = 1) => ({
    topics,
    owned: Object.entries(owned).map(([topic, partitions]) => ({ topic, partitions })),
    generation,
  });
  const shared = (members: Record<string, ReturnType<typeof member>>, count: number, cooperative: boolean) => {
    const shares = assignPartitions(new Map(Object.entries(members)), () => count, cooperative);
    return Object.fromEntries(
      shares.map(({ memberId, assignments }) => [
        memberId,
        Object.fromEntries([...assignments.values()].map(({ topic, partitions }) => [topic, partitions.toSorted()])),
      ]),
    );
  };

  it("Partitions go to the members that have subscribed to their topic, evenly, each once", () => {
    const members = { m1: member(["a"]), m2: member(["a", "b"]), m3: member(["b"]) };
    expect(shared(members, 4, false)).toEqual({ m1: { a: [0, 2] }, m2: { a: [1, 3], b: [1, 3] }, m3: { b: [0, 2] } });
  });

  it("A member that joins gets what others have above their part, once they have given it up", () => {
    const members = { m1: member(["a"], { a: [0, 1, 2] }), m2: member(["a"], { a: [3, 4, 5] }), m3: member(["a"]) };
    expect(shared(members, 6, true)).toEqual({ m1: { a: [0, 1] }, m2: { a: [3, 4] }, m3: {} });
    const given = { m1: member(["a"], { a: [0, 1] }), m2: member(["a"], { a: [3, 4] }), m3: member(["a"]) };
    expect(shared(given, 6, true)).toEqual({ m1: { a: [0, 1] }, m2: { a: [3, 4] }, m3: { a: [2, 5] } });
    // In a group that is not cooperative all work has stopped.
    expect(shared(members, 6, false)).toEqual({ m1: { a: [0, 1] }, m2: { a: [3, 4] }, m3: { a: [2, 5] } });
  });

  it("Partitions of a member that left go to the others, and nothing else moves", () => {
    const members = { m1: member(["a"], { a: [0, 3] }), m3: member(["a"], { a: [4, 1] }) };
    expect(shared(members, 6, true)).toEqual({ m1: { a: [0, 2, 3] }, m3: { a: [1, 4, 5] } });
  });

  it("A partition that two members name belongs to the one that got it last", () => {
    const members = { m1: member(["a"], { a: [0, 1] }, 4), m2: member(["a"], { a: [1] }, 5) };
    expect(shared(members, 2, true)).toEqual({ m1: { a: [0] }, m2: { a: [1] } });
    const reversed = { m2: members.m2, m1: members.m1 };
    expect(shared(reversed, 2, true)).toEqual({ m1: { a: [0] }, m2: { a: [1] } });
  });

  it("Every sharing is even and ends: after one more nothing moves, whoever joins, leaves or forgets its partitions", () => {
    const claims = fc.array(fc.array(fc.nat(11), { maxLength: 12 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(claims, fc.integer({ min: 0, max: 12 }), (given, count) => {
        const free = new Set(Array.from({ length: 12 }, (_, number) => number));
        let members = Object.fromEntries(
          given.map((owned, n) => [`m${n}`, member(["a"], { a: owned.filter((number) => free.delete(number)) })]),
        );
        const next = () => {
          const got = shared(members, count, true);
          members = Object.fromEntries(Object.entries(got).map(([id, topics]) => [id, member(["a"], topics)]));
          return got;
        };
        next();
        const settled = next();
        const sizes = Object.values(settled).map((topics) => topics.a?.length ?? 0);
        expect(
          Object.values(settled)
            .flatMap((topics) => topics.a ?? [])
            .toSorted((a, b) => a - b),
        ).toEqual(Array.from({ length: count }, (_, number) => number));
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        expect(next()).toEqual(settled);
      }),
    );
  });

  it("A member's description is read as it was written, and those of other makes and versions as far as they go", () => {
    const whole = {
      topics: ["orders", "z\u00fcrich"],
      owned: [{ topic: "orders", partitions: [0, 7] }],
      generation: 3,
    };
    expect(readSubscription(writeSubscription(whole))).toEqual(whole);
    const none = { owned: [], generation: -1 };
    // Version 0; and version 1 of earlier versions of Stoa, which ends after the user data.
    for (const version of ["0000", "0001"]) {
      const data = Buffer.from(`${version}000000010001${"61"}00000000`, "hex");
      expect(readSubscription(data)).toEqual({ topics: ["a"], ...none });
    }
    // Version 1 of a Java client, with the generation as user data.
    const owned = "00000001000161000000010000000200000000";
    const java = Buffer.from(`0001${"00000001000161"}0000000400000005${owned}`, "hex");
    expect(readSubscription(java)).toEqual({ topics: ["a"], owned: [{ topic: "a", partitions: [2] }], generation: 5 });
    expect(readSubscription(Buffer.from("ff", "hex"))).toEqual({ topics: [], ...none });
  });
});

describe("A consumer that joins its group", () => {
  type Member = { readonly memberId: string; readonly metadata: Buffer };

  /** Joins as the library does; resolves to the response that the library gets, and what the broker was told. */
  function joiner(protocolName: string) {
    const kGetApi = Symbol("getApi");
    const silent = vi.fn();
    const joining = new Joining(async () => {}, 6000, silent);
    onTestFinished(() => joining.close());
    /** Responses that the broker owes. */
    const owed: (() => void)[] = [];
    let waits = false;
    let [generationId, members] = [0, [] as Member[]];
    let told = readSubscription(Buffer.alloc(0));
    const broker: KafkaJoinApi = (...request) => {
      told = readSubscription(request[7][0]!.metadata);
      const respond = () => request[9](null, { memberId: "m1", generationId: ++generationId, protocolName, members });
      if (waits) owed.push(respond);
      else respond();
    };
    const consumer = {
      topics: { current: ["a"] },
      assignments: null as { topic: string; partitions: number[] }[] | null,
      lastHeartbeat: null as Date | null,
      [kGetApi]: (_name: string, found: (error: Error | null, api: KafkaJoinApi) => void) => found(null, broker),
    };
    const pool = { get: async (address: unknown) => address, close: async () => {} };
    joining.attach(
      { kGetApi } as unknown as KafkaLibrary,
      consumer as unknown as KafkaClientConsumer,
      pool as unknown as KafkaConnectionPool,
      60_000,
    );
    const join = async (memberId: string, given: Member[] = []) => {
      members = given;
      const response = await new Promise<{ readonly members: readonly Member[] }>((resolve, reject) => {
        const ended = (error: Error | null, answer?: { readonly members: readonly Member[] }) =>
          answer === undefined ? reject(error) : resolve(answer);
        const joined = (_error: Error | null, api: KafkaJoinApi) =>
          api(null, "group", 1, 1, memberId, null, "consumer", [], "", ended as never);
        (consumer[kGetApi] as (name: string, found: typeof joined) => void)("JoinGroup", joined);
      });
      return { response, told };
    };
    const hold = () => {
      waits = true;
      return owed;
    };
    return { joining, consumer, join, hold, pool, silent, pass: () => void generationId++ };
  }

  it("Notices that neither a heartbeat nor a request to join was answered for longer than they may take", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { join, pool, consumer, silent } = joiner("cooperative-sticky");
    await join("");
    await vi.advanceTimersByTimeAsync(50_000);
    consumer.lastHeartbeat = new Date();
    // The library forgets the request.
    pool.get = () => new Promise(() => {});
    void join("m1");
    await vi.advanceTimersByTimeAsync(65_000);
    expect(silent).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(12_000);
    expect(silent).toHaveBeenCalled();
  });

  it("Hands no description to the library that it could not read: its error would end the process", async () => {
    const { join, joining } = joiner("cooperative-sticky");
    const good = writeSubscription({ topics: ["a"], owned: [], generation: -1 });
    const damaged = ["", "00", "0001", "00017fffffff", "0000000000010009"].map((hex) => Buffer.from(hex, "hex"));
    const { response } = await join(
      "",
      [good, ...damaged].map((metadata, n) => ({ memberId: `m${n}`, metadata })),
    );
    // As the library reads it: the version, the topics with their lengths, and the user data.
    for (const [place, { metadata }] of response.members.entries()) {
      const { topics } = readSubscription(metadata);
      expect(topics).toEqual(place === 0 ? ["a"] : []);
      let at = 6;
      for (const topic of topics) at += 2 + topic.length;
      expect(metadata.readInt32BE(2)).toBe(topics.length);
      expect(at + 4 + metadata.readInt32BE(at)).toBeLessThanOrEqual(metadata.length);
    }
    const shares = joining.share({ topics: new Map([["a", { partitionsCount: 2 }]]) } as never);
    expect(shares.map(({ memberId, assignments }) => [memberId, assignments.get("a")?.partitions ?? []])).toEqual([
      ["m0", [0, 1]],
      ...damaged.map((_, n) => [`m${n + 1}`, []]),
    ]);
  });

  it("Names its partitions as long as nobody else can have had them: a share that it did not hear of counts if members stop all work", async () => {
    for (const protocol of ["cooperative-sticky", "roundrobin"]) {
      const { join, joining, consumer, pass } = joiner(protocol);
      await join("");
      expect(joining.shared()).toBe(false);
      consumer.assignments = [{ topic: "a", partitions: [0, 1] }];
      expect((await join("m1")).told).toMatchObject({ owned: consumer.assignments, generation: 1 });
      expect(joining.shared()).toBe(true);
      // The share of this one never arrives: the group has changed again.
      await join("m1");
      const { told } = await join("m1");
      const isCooperative = protocol === "cooperative-sticky";
      expect(told.owned).toEqual(isCooperative ? consumer.assignments : []);
      expect(joining.shared()).toBe(isCooperative);
      // The group was shared without it.
      pass();
      await join("m1");
      expect(joining.shared()).toBe(false);
      // The group does not know it any more.
      expect((await join("")).told).toMatchObject({ owned: [], generation: -1 });
      expect(joining.shared()).toBe(false);
    }
  });

  it("Is alive as long as a request waits for other members, unless its process was paused for longer than the session", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const wasPaused of [false, true]) {
      const { joining, consumer, join, hold } = joiner("cooperative-sticky");
      consumer.lastHeartbeat = new Date();
      const owed = hold();
      const joined = join("m1");
      await vi.waitUntil(() => owed.length === 1);
      if (wasPaused) vi.setSystemTime(Date.now() + 6500);
      vi.advanceTimersByTime(60_000);
      expect(joining.isAlive).toBe(!wasPaused);
      owed[0]!();
      await joined;
      expect(joining.isAlive).toBe(true);
      vi.advanceTimersByTime(6500);
      expect(joining.isAlive).toBe(false);
    }
  });
});
