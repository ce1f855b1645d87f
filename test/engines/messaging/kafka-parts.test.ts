import { describe, expect, it, onTestFinished, vi } from "vitest";
import { assignPartitions } from "../../../src/engines/messaging/kafka/assigner.js";
import { Commits } from "../../../src/engines/messaging/kafka/commits.js";
import { Partition } from "../../../src/engines/messaging/kafka/partition.js";
import fc from "../../support/properties.js";

const entry = (offset: bigint) => ({ offset, over: false });

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
            const before = partition.size;
            const fewer = partition.done(ended!);
            expect(partition.size).toBe(before - fewer);
            const first = open[0]?.offset ?? 201n;
            expect(partition.size).toBe(offsets.filter((each) => each >= first).length);
            // A second result changes nothing.
            expect(partition.done(ended!)).toBe(0);
            const next = partition.takeCommittable();
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
    expect(partition.done(first)).toBe(0);
    expect(partition.takeCommittable()).toBe(null);
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

  it("A partition that starts at a message that is done moves the offset over it with the next one", () => {
    const partition = new Partition(0n);
    const entries = [0n, 1n, 2n].map(entry);
    for (const each of entries) partition.add(each);
    partition.done(entries[1]!);
    partition.startAt(1n);
    expect(partition.takeCommittable()).toBe(null);
    partition.done(entries[2]!);
    expect(partition.takeCommittable()).toBe(3n);
    expect(partition.size).toBe(0);
  });
});

describe("commits", () => {
  const started = () => {
    // Timers alone: turns of the event loop go on.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let due: bigint | null = null;
    const done: bigint[] = [];
    const commits = new Commits({
      settled: () => null,
      take: () => {
        const offsets = new Map(due === null ? [] : [[0, due]]);
        due = null;
        return offsets;
      },
      restore: () => {},
      commit: async (offsets) => void done.push(...offsets.values()),
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
