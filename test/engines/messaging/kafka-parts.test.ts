import { describe, expect, it, onTestFinished, vi } from "vitest";
import { assignPartitions } from "../../../src/engines/messaging/kafka/group/assigner.js";
import { Commits } from "../../../src/engines/messaging/kafka/group/commits.js";
import { readProgress, writeProgress } from "../../../src/engines/messaging/kafka/group/progress.js";
import { Partition } from "../../../src/engines/messaging/kafka/partition.js";
import fc from "../../support/properties.js";

const entry = (offset: bigint) => ({ offset, over: false });
const taken = (partition: Partition) => partition.takeCommittable(null)?.offset ?? null;

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

  it("A partition that is told to start at a later offset gives up the messages before it", () => {
    const partition = new Partition(0n);
    const [first, second] = [entry(0n), entry(1n)];
    partition.add(first);
    partition.add(second);
    expect(partition.startAt(1n)).toEqual([first]);
    expect(first.over).toBe(true);
    partition.done(first);
    expect(taken(partition)).toBe(null);
    expect(partition.open).toEqual([second]);
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

  it("A partition that starts at a message that is done moves the offset over it", () => {
    const partition = new Partition(0n);
    const entries = [0n, 1n, 2n].map(entry);
    for (const each of entries) partition.add(each);
    partition.done(entries[1]!);
    partition.startAt(1n);
    expect(taken(partition)).toBe(2n);
    partition.done(entries[2]!);
    expect(taken(partition)).toBe(3n);
    expect(partition.size).toBe(0);
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
    const commits = new Commits({
      settled: () => null,
      take: () => {
        const offsets = new Map(due === null ? [] : [[0, { offset: due, metadata: "" }]]);
        due = null;
        return offsets;
      },
      restore: () => {},
      commit: async (offsets) => void done.push(...[...offsets.values()].map(({ offset }) => offset)),
      failed: () => {},
    });
    const move = (offset: bigint) => {
      due = offset;
      commits.soon();
    };
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    return { commits, done, move, turn };
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

it("Partitions go to the members that have subscribed to their topic, evenly, each once", () => {
  const members = new Map([
    ["m1", { topics: ["a"] }],
    ["m2", { topics: ["a", "b"] }],
    ["m3", { topics: ["b"] }],
  ]);
  const metadata = { topics: new Map(["a", "b"].map((name) => [name, { partitionsCount: 4 }])) };
  // The member that assigns names its own topics alone.
  const shares = assignPartitions("m1", members, new Set(["a"]), metadata);
  const got = Object.fromEntries(shares.map(({ memberId, assignments }) => [memberId, [...assignments.values()]]));
  expect(got).toEqual({
    m1: [{ topic: "a", partitions: [0, 2] }],
    m2: [
      { topic: "a", partitions: [1, 3] },
      { topic: "b", partitions: [0, 2] },
    ],
    m3: [{ topic: "b", partitions: [1, 3] }],
  });
});
