import { crc32c, createRecordsBatch } from "@platformatic/kafka";
import type { MessagingError } from "stoa/messaging";
import { describe, expect, it, onTestFinished } from "vitest";
import type { KafkaClients } from "../../../src/engines/messaging/kafka/clients.js";
import type { FetchFrom } from "../../../src/engines/messaging/kafka/fetch/fetch-client.js";
import { Fetcher } from "../../../src/engines/messaging/kafka/fetch/fetcher.js";
import type { FetchedPartition, FetchResponse } from "../../../src/engines/messaging/kafka/fetch/response.js";
import type { Unpack } from "../../../src/engines/messaging/kafka/fetch/unpack.js";
import type { KafkaClientConsumer } from "../../../src/engines/messaging/kafka/library.js";
import { until } from "./harness.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Asked {
  readonly port: number;
  readonly wanted: readonly FetchFrom[];
  answer(...partitions: Partial<FetchedPartition>[]): void;
  fail(error: unknown): void;
}

/** A fetcher of partition 0 whose requests the test answers, and the leader that it can move. */
function fetching(
  room = Number.POSITIVE_INFINITY,
  parts: { readonly unpack?: Unpack; readonly partitions?: number } = {},
) {
  const numbers = Array.from({ length: parts.partitions ?? 1 }, (_, number) => number);
  const places: [number, bigint][] = [];
  const asked: Asked[] = [];
  const taken: bigint[] = [];
  const unreadable: MessagingError[] = [];
  const state = {
    leader: 1,
    open: 0,
    full: new Set<number>(),
    alone: new Set<number>(),
    failed: [] as unknown[],
    outOfRange: [] as [number, bigint][],
    refreshed: 0,
  };
  const client = {
    fetch: (address: { port: number }, _topic: object, wanted: readonly FetchFrom[]) =>
      new Promise<FetchResponse>((resolve, reject) => {
        const answer = (...partitions: Partial<FetchedPartition>[]) => {
          const empty = { number: 0, error: 0, aborted: [], records: Buffer.alloc(0) };
          resolve({ throttle: 0, error: 0, partitions: partitions.map((each) => ({ ...empty, ...each })) });
        };
        asked.push({ port: address.port, wanted, answer, fail: reject });
      }),
    close: () => {},
  };
  const brokers = new Map([1, 2].map((port) => [port, { host: "h", port }]));
  const consumer = {
    async metadata({ forceUpdate = false }: { forceUpdate?: boolean }) {
      if (forceUpdate) state.refreshed++;
      const partitions = numbers.map(() => ({ leader: state.leader, leaderEpoch: 0 }));
      const topic = { id: "i", partitionsCount: numbers.length, partitions };
      return { brokers, topics: new Map([["t", topic]]) };
    },
  };
  const protocolError = (code: number) => Object.assign(new Error(`code ${code}`), { apiCode: code });
  const fetcher = new Fetcher({
    clients: {
      fetchClient: () => client,
      protocolError,
      unpack: parts.unpack,
      checksum: crc32c,
    } as unknown as KafkaClients,
    consumer: consumer as unknown as KafkaClientConsumer,
    topic: "t",
    starts: new Map(numbers.map((number) => [number, 0n])),
    hasRoom: () => state.open < room,
    isFull: (number) => state.full.has(number),
    waitsForAll: (number) => state.alone.has(number) && state.open > 0,
    isRunning: () => true,
    deliver: (_record, number, offset, error) => {
      places.push([number, offset]);
      if (error !== undefined) unreadable.push(error);
      taken.push(offset);
      state.open++;
    },
    outOfRange: (number, offset) => void state.outOfRange.push([number, offset]),
    failed: (error) => void state.failed.push(error),
  });
  onTestFinished(() => fetcher.close());
  return { fetcher, asked, taken, places, unreadable, state };
}

function records(count: number, firstOffset = 0n, size = 1): Buffer {
  const value = Buffer.alloc(size, "x");
  const messages = Array.from({ length: count }, () => ({ topic: "t", partition: 0, value, timestamp: 1n }));
  const bytes = Buffer.from(createRecordsBatch(messages as never).buffer);
  bytes.writeBigInt64BE(firstOffset, 0);
  return bytes;
}

describe("a fetcher", () => {
  it("A fetcher delivers as many records as there is room for, and the next ones together in a later turn", async () => {
    const { fetcher, asked, taken, state } = fetching(10);
    await until(() => asked.length === 1);
    asked[0]!.answer({ records: records(25) });
    await until(() => taken.length === 10);
    state.open = 0;
    for (let ended = 0; ended < 10; ended++) fetcher.update();
    expect(taken).toHaveLength(10);
    await turn();
    expect(taken).toHaveLength(20);
    expect(taken).toEqual(Array.from({ length: 20 }, (_, offset) => BigInt(offset)));
  });

  it("A fetcher asks for more while few bytes are left, and not before", async () => {
    const { fetcher, asked, taken, state } = fetching(1);
    await until(() => asked.length === 1);
    asked[0]!.answer({ records: records(2, 0n, 300_000) });
    await until(() => taken.length === 1);
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(asked).toHaveLength(1);
    for (let ended = 2; ended <= 3; ended++) {
      state.open = 0;
      fetcher.update();
      await turn();
    }
    await until(() => asked.length === 2);
    expect(asked[1]!.wanted).toMatchObject([{ number: 0, offset: 2n }]);
  });

  it("A fetcher whose partition has another leader asks that one, and drops what the former one sends too late", async () => {
    const { fetcher, asked, taken, state } = fetching();
    await until(() => asked.length === 1);
    state.leader = 2;
    asked[0]!.answer({ error: 6 });
    await until(() => asked.length === 2);
    expect([state.refreshed, asked[1]!.port]).toEqual([1, 2]);
    asked[1]!.answer({ records: records(3) });
    await until(() => asked.length === 3);
    expect(taken).toEqual([0n, 1n, 2n]);
    // The request is still under way at the second broker when the first one leads again.
    state.leader = 1;
    fetcher.update();
    asked[2]!.fail(Object.assign(new Error("gone"), { canRetry: true }));
    await until(() => asked.length === 4);
    expect(asked[3]).toMatchObject({ port: 1, wanted: [{ offset: 3n }] });
    asked[3]!.answer({ records: records(2, 3n) }, { records: records(2, 3n) });
    await until(() => asked.length === 5);
    expect(taken).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(state.failed).toEqual([]);
  });

  it("A fetcher gives up after a partition has failed again and again, and at once where another try is useless", async () => {
    const tired = fetching();
    for (let tries = 1; tries <= 13; tries++) {
      await until(() => tired.asked.length === tries);
      tired.asked.at(-1)!.answer({ error: 6 });
    }
    await until(() => tired.state.failed.length > 0);
    expect(tired.state.failed).toMatchObject([{ apiCode: 6 }]);
    const refused = fetching();
    await until(() => refused.asked.length === 1);
    refused.asked[0]!.answer({ error: 29 });
    await until(() => refused.state.failed.length > 0);
    expect(refused.state.failed).toMatchObject([{ apiCode: 29 }]);
    expect(refused.asked).toHaveLength(1);
  });

  it("A fetcher tells that an offset is out of range, and reads that partition no more", async () => {
    const { asked, state } = fetching();
    await until(() => asked.length === 1);
    asked[0]!.answer({ error: 1 });
    await until(() => state.outOfRange.length === 1);
    expect(state.outOfRange).toEqual([[0, 0n]]);
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(asked).toHaveLength(1);
  });

  it("A batch that cannot be read is delivered with its error, and the fetcher reads on", async () => {
    const { asked, taken, unreadable, state } = fetching();
    await until(() => asked.length === 1);
    const damaged = records(3);
    damaged[69] = 0x7f;
    asked[0]!.answer({ records: Buffer.concat([damaged, records(1, 3n)]) });
    await until(() => asked.length === 2);
    expect(taken).toEqual([2n, 3n]);
    expect(unreadable).toMatchObject([{ message: expect.stringContaining("(topic 't', partition 0, offset 0)") }]);
    expect(asked[1]!.wanted).toMatchObject([{ offset: 4n }]);
    expect(state.failed).toEqual([]);
  });

  it("A partition that must wait holds up no other one, and is read again when it may continue, in its order", async () => {
    const { fetcher, asked, places, state } = fetching(1000, { partitions: 2 });
    await until(() => asked.length === 1);
    state.full.add(0);
    const large = records(2, 0n, 200_000);
    asked[0]!.answer({ number: 0, records: large }, { number: 1, records: records(2) });
    await until(() => asked.length === 2);
    expect(places).toEqual([
      [1, 0n],
      [1, 1n],
    ]);
    // What it has is enough for the partition that waits.
    expect(asked[1]!.wanted).toMatchObject([{ number: 1, offset: 2n }]);
    asked[1]!.answer({ number: 1, records: records(1, 2n) });
    await until(() => asked.length === 3);
    state.full.clear();
    fetcher.update();
    await until(() => places.length === 5);
    expect(places.slice(3)).toEqual([
      [0, 0n],
      [0, 1n],
    ]);
    asked[2]!.answer();
    await until(() => asked.length === 4);
    expect(asked[3]!.wanted.map(({ number }) => number).toSorted()).toEqual([0, 1]);
  });

  it("A record that is to be the only one is delivered in its turn, however many another partition has", async () => {
    const { fetcher, asked, places, state } = fetching(1000, { partitions: 2 });
    await until(() => asked.length === 1);
    state.alone.add(0);
    asked[0]!.answer({ number: 1, records: records(1) }, { number: 0, records: records(1) });
    await until(() => asked.length === 2);
    asked[1]!.answer({ number: 1, records: records(5, 1n) });
    await until(() => asked.length === 3);
    expect(places).toEqual([[1, 0n]]);
    state.open = 0;
    fetcher.update();
    await until(() => places.length === 2);
    expect(places[1]).toEqual([0, 0n]);
    state.open = 0;
    fetcher.update();
    await until(() => places.length === 7);
  });

  it("A fetcher delivers nothing while a batch is unpacked by another thread, and keeps the order", async () => {
    const waiting: (() => void)[] = [];
    const plain = records(2);
    const unpack = () => new Promise<Buffer>((resolve) => waiting.push(() => resolve(plain.subarray(61))));
    const { fetcher, asked, taken } = fetching(100, { unpack });
    await until(() => asked.length === 1);
    const packed = records(2);
    packed.writeInt16BE(1, 21);
    packed.writeUInt32BE(crc32c(packed.subarray(21)), 17);
    asked[0]!.answer({ records: Buffer.concat([packed, records(2, 2n)]) });
    await until(() => waiting.length === 1);
    fetcher.update();
    await turn();
    expect(taken).toEqual([]);
    waiting[0]!();
    await until(() => taken.length === 4);
    expect(taken).toEqual([0n, 1n, 2n, 3n]);
  });
});
