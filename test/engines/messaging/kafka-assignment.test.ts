import { expect, it, onTestFinished, vi } from "vitest";
import { Assignment } from "../../../src/engines/messaging/kafka/group/assignment.js";
import { GroupCommits } from "../../../src/engines/messaging/kafka/group/group-commits.js";
import type { Membership } from "../../../src/engines/messaging/kafka/group/membership.js";
import { type DeliveryOwner, KafkaDelivery } from "../../../src/engines/messaging/kafka/kafka-delivery.js";

const megabyte = 1024 * 1024;

function assigned(partitions: number, unconfirmed?: (identities: Iterable<string>) => void) {
  const lost: KafkaDelivery[] = [];
  const assignment = new Assignment("me", 100, (delivery) => lost.push(delivery), unconfirmed);
  const start = { offset: 0n, progress: null, abandoned: false };
  assignment.assign(new Map(Array.from({ length: partitions }, (_, number) => [number, start])));
  const deliver = (number: number, offset: bigint, bytes = 1) => {
    const record = { id: "", key: `k${number}`, headers: {}, body: new Uint8Array(bytes), timestamp: 0 };
    const partition = assignment.expecting(number, offset)!;
    const delivery = new KafkaDelivery(record, {} as DeliveryOwner, partition, number, offset);
    assignment.add(delivery);
    return delivery;
  };
  return { assignment, deliver, lost };
}

it("Large messages that wait for another attempt hold up their partition alone, and all partitions together hold 16 MiB", () => {
  const { assignment, deliver } = assigned(4);
  for (let number = 0; number < 4; number++) {
    assignment.wait(deliver(number, 0n, megabyte));
    for (let offset = 1n; !assignment.isFull(number); offset++) deliver(number, offset, megabyte);
    expect(assignment.nextOf(number)).toBe(4n);
    // The partitions after it.
    for (let next = number + 1; next < 4; next++) expect(assignment.isFull(next)).toBe(false);
    expect(assignment.hasRoom).toBe(true);
  }
});

it("A frozen partition takes no message and is committed as left in order; when it thaws it is ours again", () => {
  const { assignment, deliver, lost } = assigned(2);
  const [first, second] = [deliver(0, 0n), deliver(1, 0n)];
  for (const delivery of [first, second]) assignment.done(delivery);
  const owners = () =>
    [...assignment.takeCommittable(true)].map(([number, { metadata }]) => [number, metadata.split(" ")[1]]);
  assignment.freeze([1]);
  expect([assignment.isFull(0), assignment.isFull(1), assignment.frozen]).toEqual([false, true, [1]]);
  expect(owners()).toEqual([
    [0, "me"],
    [1, "-"],
  ]);
  assignment.thaw();
  expect(assignment.isFull(1)).toBe(false);
  expect(owners()).toEqual([[1, "me"]]);
  assignment.freeze([1]);
  deliver(1, 1n);
  assignment.drop([1]);
  expect([assignment.numbers, assignment.frozen, lost.map(({ offset }) => offset)]).toEqual([[0], [], [1n]]);
});

it("A consumer that leaves waits for its commits, also if it takes partitions over in the same turn", async () => {
  const { assignment, deliver } = assigned(1);
  assignment.done(deliver(0, 0n));
  const sent: number[][] = [];
  let take = () => {};
  const taken = new Promise<void>((resolve) => {
    take = resolve;
  });
  const membership = {
    async commit(offsets: ReadonlyMap<number, unknown>): Promise<void> {
      if (offsets.size === 0) return;
      sent.push([...offsets.keys()]);
      await taken;
    },
  } as Membership;
  const failed = (error: unknown) => expect.unreachable(String(error));
  const commits = new GroupCommits({
    assignment,
    membership,
    owner: "me",
    broadcast: false,
    accepted: () => {},
    failed,
  });
  onTestFinished(() => commits.stop());
  let left = false;
  const leaving = commits.handOver().then(() => {
    left = true;
  });
  const added = commits.takeOver([]);
  await vi.waitFor(() => expect(sent).toEqual([[0]]));
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(left).toBe(false);
  take();
  await Promise.all([leaving, added]);
});

it("Messages that are done and not committed are told when their partition is given up, but not when it is moved", () => {
  const told: string[] = [];
  const { assignment, deliver } = assigned(3, (identities) => told.push(...identities));
  const done = (number: number, offset: bigint) => assignment.done(deliver(number, offset));
  for (const number of [0, 1, 2]) done(number, 0n);
  const offsets = assignment.takeCommittable(true);
  for (const number of [0, 1, 2]) done(number, 1n);
  for (const { confirmed } of offsets.values()) confirmed!();
  assignment.drop([0]);
  assignment.drop([1], true);
  expect(told).toEqual(["0/1/0/"]);
  assignment.end();
  expect(told).toEqual(["0/1/0/", "2/1/0/"]);
});
