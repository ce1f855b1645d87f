import { crc32c, createRecordsBatch } from "@platformatic/kafka";
import type { MessagingError } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import type { IncomingRecord } from "../../../src/engines/messaging/broker.js";
import { noValue } from "../../../src/engines/messaging/headers.js";
import { RecordBatches, Unreadable } from "../../../src/engines/messaging/kafka/fetch/batches.js";
import { ByteReader } from "../../../src/engines/messaging/kafka/fetch/byte-reader.js";
import { readFetchResponse } from "../../../src/engines/messaging/kafka/fetch/response.js";
import fc from "../../support/properties.js";

const topic = "t";
const unpack = () => {
  throw new Error("nothing here is compressed");
};

/** The batch with the checksum of what it has now. */
function sealed(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17);
  return bytes;
}

interface Sent {
  readonly key?: Buffer | undefined;
  readonly value?: Buffer | undefined;
  readonly headers: Map<Buffer, Buffer>;
  readonly timestamp: bigint;
}

interface BatchOptions {
  readonly producerId?: bigint;
  readonly transactionalId?: string;
}

/** A batch as a broker stores it, with its first record at this offset. */
function batch(records: readonly Sent[], firstOffset = 0n, options: BatchOptions = {}): Buffer {
  const messages = records.map((record) => ({ topic, partition: 0, ...record }));
  const bytes = Buffer.from(createRecordsBatch(messages as never, options as never).buffer);
  bytes.writeBigInt64BE(firstOffset, 0);
  return bytes;
}

/** The mark at the end of a transaction. */
function marker(offset: bigint, producerId: bigint, type: "abort" | "commit"): Buffer {
  const key = Buffer.from([0, 0, 0, type === "abort" ? 0 : 1]);
  const bytes = batch([{ key, value: Buffer.alloc(6), headers: new Map(), timestamp: 0n }], offset, {
    producerId,
    transactionalId: "x",
  });
  bytes.writeInt16BE(bytes.readInt16BE(21) | (1 << 5), 21);
  return sealed(bytes);
}

const plain = (text: string): Sent => ({ value: Buffer.from(text), headers: new Map(), timestamp: 7n });

function read(records: Buffer, from = 0n, aborted: { producerId: bigint; firstOffset: bigint }[] = []) {
  const parts = { topic, from, unpack, checksum: crc32c as (data: Buffer) => number };
  const batches = new RecordBatches({ number: 0, error: 0, records, aborted }, parts);
  const found: { readonly offset: bigint; readonly record: IncomingRecord }[] = [];
  const unreadable: { readonly offset: bigint; readonly id: string; readonly error: MessagingError }[] = [];
  for (let taken = batches.take(); taken !== null; taken = batches.take()) {
    const { offset } = batches;
    if (taken instanceof Unreadable) unreadable.push({ offset, id: taken.record.id, error: taken.error });
    else found.push({ offset, record: taken as IncomingRecord });
  }
  const texts = found.map(({ record }) => Buffer.from(record.body).toString());
  return { found, unreadable, texts, next: batches.nextOffset };
}

const bytes = fc.uint8Array({ maxLength: 200 }).map((list) => Buffer.from(list));
const name = fc.stringMatching(/^[a-z]{1,20}$/).map((text) => Buffer.from(text));
const record = fc.record({
  key: fc.option(
    fc.string().map((text) => Buffer.from(text)),
    { nil: undefined },
  ),
  value: fc.option(bytes, { nil: undefined }),
  headers: fc.array(fc.tuple(name, name), { maxLength: 4 }).map((list) => new Map(list)),
  // The library writes times wrongly that are more than 24 days apart.
  timestamp: fc.integer({ min: 1_700_000_000_000, max: 1_702_000_000_000 }).map(BigInt),
});
const records = fc.array(record, { minLength: 1, maxLength: 20 });

describe("batches of records", () => {
  it("Every record of a batch is read as it was written, with its offset, time, key, headers and bytes", () => {
    fc.assert(
      fc.property(records, fc.bigInt(0n, 2n ** 40n), (sent, firstOffset) => {
        const { found, next } = read(batch(sent, firstOffset), firstOffset);
        const expected = sent.map(({ key, value, headers, timestamp }, place) => ({
          offset: firstOffset + BigInt(place),
          record: {
            id: `${topic}-0-${firstOffset + BigInt(place)}`,
            key: key?.toString() ?? null,
            headers: {
              ...Object.fromEntries([...headers].map((pair) => pair.map(String))),
              ...(value === undefined && { "content-type": noValue }),
            },
            body: Uint8Array.from(value ?? []),
            timestamp: Number(timestamp),
          },
        }));
        const plainBody = found.map(({ offset, record: each }) => ({
          offset,
          record: { ...each, body: Uint8Array.from(each.body) },
        }));
        expect(plainBody).toEqual(expected);
        expect(next).toBe(firstOffset + BigInt(sent.length));
      }),
    );
  });

  it("A batch that is cut off at the end of a response is left for the next one", () => {
    const [first, second] = [batch([plain("a"), plain("b")]), batch([plain("c")], 2n)];
    for (let cut = 0; cut < second.length; cut++) {
      const { texts, next } = read(Buffer.concat([first, second.subarray(0, cut)]));
      expect(texts).toEqual(["a", "b"]);
      expect(next).toBe(2n);
    }
    expect(read(Buffer.concat([first, second])).texts).toEqual(["a", "b", "c"]);
  });

  it("A mark of a transaction that the cleaner of a compacted topic has emptied is passed over", () => {
    const emptied = Buffer.from(marker(1n, 5n, "abort").subarray(0, 61));
    emptied.writeInt32BE(61 - 12, 8);
    emptied.writeInt32BE(0, 57);
    sealed(emptied);
    const { texts, next } = read(Buffer.concat([batch([plain("a")]), emptied, batch([plain("b")], 2n)]));
    expect(texts).toEqual(["a", "b"]);
    expect(next).toBe(3n);
  });

  it("A number of ten bytes is read", () => {
    const longest = Buffer.from([...new Array(9).fill(0xff), 0x01]);
    expect(new ByteReader(longest).unsigned()).toBe(2 ** 64);
  });

  it("Records before the offset that was asked for are left out", () => {
    expect(read(batch([plain("a"), plain("b"), plain("c")], 10n), 11n).texts).toEqual(["b", "c"]);
  });

  it("A batch with any wrong byte is set aside with its place, and the batches around it are read", () => {
    const [first, last] = [batch([plain("a")]), batch([plain("d")], 3n)];
    const good = batch([plain("b"), plain("c")], 1n);
    // The first offset, the length and the epoch of the leader are not part of the checksum.
    const change = fc.tuple(fc.integer({ min: 16, max: good.length - 1 }), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(change, ([place, difference]) => {
        const damaged = Buffer.from(good);
        damaged[place]! ^= difference;
        const { texts, unreadable, found } = read(Buffer.concat([first, damaged, last]));
        expect(texts).toEqual(["a", "d"]);
        expect(unreadable).toMatchObject([{ id: "t-0-1", error: { code: "REFUSED" } }]);
        expect(unreadable[0]!.error.message).toContain("(topic 't', partition 0, offset 1)");
        expect(found.at(-1)!.offset).toBe(3n);
      }),
    );
  });

  it("Records behind one that cannot be read are set aside with it, those before it are read", () => {
    const damaged = batch([plain("a"), plain("b"), plain("c")], 10n);
    // The length of the second record.
    const second = 61 + 1 + damaged[61]! / 2;
    damaged[second] = 0x7e;
    const { texts, unreadable } = read(sealed(damaged), 10n);
    expect(texts).toEqual(["a"]);
    expect(unreadable).toMatchObject([{ offset: 12n, id: "t-0-11" }]);
  });

  it("Bytes that have no whole batch, or one of an impossible length, are an error that names their place", () => {
    const good = batch([plain("a")], 5n);
    const place = "(topic 't', partition 0, offset 5)";
    expect(() => read(good.subarray(0, 30), 5n)).toThrow(`a batch cannot be read ${place}`);
    good.writeInt32BE(3, 8);
    expect(() => read(good, 5n)).toThrow("a batch has 3 bytes");
  });

  it("Only the messages of a producer between the first offset and the end of its aborted transaction are left out", () => {
    const [mine, other] = [
      { producerId: 5n, transactionalId: "x" },
      { producerId: 6n, transactionalId: "y" },
    ];
    const log = Buffer.concat([
      batch([plain("aborted 1")], 0n, mine),
      batch([plain("of another")], 1n, other),
      marker(2n, 5n, "abort"),
      batch([plain("committed")], 3n, mine),
      marker(4n, 5n, "commit"),
      batch([plain("aborted 2")], 5n, mine),
      batch([plain("without a transaction")], 6n, { producerId: 5n }),
      marker(7n, 5n, "abort"),
      marker(8n, 6n, "commit"),
    ]);
    const aborted = [
      { producerId: 5n, firstOffset: 5n },
      { producerId: 5n, firstOffset: 0n },
    ];
    const { texts, next } = read(log, 0n, aborted);
    expect(texts).toEqual(["of another", "committed", "without a transaction"]);
    expect(next).toBe(9n);
  });

  it("The messages of an aborted transaction are left out also where its end is in a later response", () => {
    const log = Buffer.concat([
      batch([plain("a")]),
      batch([plain("aborted")], 1n, { producerId: 5n, transactionalId: "x" }),
    ]);
    expect(read(log, 0n, [{ producerId: 5n, firstOffset: 1n }]).texts).toEqual(["a"]);
    // The transaction has begun in an earlier one.
    expect(read(log, 0n, [{ producerId: 5n, firstOffset: -20n }]).texts).toEqual(["a"]);
  });

  it("Where the broker sets the time of messages, all of a batch have that of the batch", () => {
    const bytes = batch([plain("a"), plain("b")]);
    bytes.writeInt16BE(bytes.readInt16BE(21) | (1 << 3), 21);
    bytes.writeBigInt64BE(1_234_567n, 35);
    expect(read(sealed(bytes)).found.map(({ record: { timestamp } }) => timestamp)).toEqual([1_234_567, 1_234_567]);
  });

  it("Messages in a format that is older than batches are set aside one by one, with an error that names the format", () => {
    const old = (offset: bigint) => {
      const bytes = Buffer.alloc(12 + 22);
      bytes.writeBigInt64BE(offset, 0);
      bytes.writeInt32BE(22, 8);
      bytes[16] = 1;
      return bytes;
    };
    const { texts, unreadable, next } = read(Buffer.concat([old(0n), old(1n), batch([plain("a")], 2n)]));
    expect(texts).toEqual(["a"]);
    expect(unreadable.map(({ id }) => id)).toEqual(["t-0-0", "t-0-1"]);
    expect(unreadable[0]!.error.message).toContain("the format 1");
    expect(next).toBe(3n);
  });
});

describe("a response to Fetch", () => {
  it("Fields that a later version of the protocol adds to a partition or a topic are skipped", () => {
    const tags = [2, 1, 3, 9, 9, 9, 7, 0];
    const content = batch([plain("a")]);
    const partition = Buffer.concat([
      Buffer.from([0, 0, 0, 4, 0, 6]),
      Buffer.alloc(24),
      Buffer.from([0, 0xff, 0xff, 0xff, 0xff]),
      Buffer.from([(content.length + 1) | 0x80, (content.length + 1) >> 7]),
      content,
      Buffer.from(tags),
    ]);
    const head = Buffer.from([0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 2]);
    const body = Buffer.concat([head, Buffer.alloc(16), Buffer.from([3]), partition, partition, Buffer.from(tags)]);
    const { throttle, error, partitions } = readFetchResponse(body, 17);
    expect([throttle, error]).toEqual([12, 0]);
    expect(partitions).toMatchObject([
      { number: 4, error: 6 },
      { number: 4, error: 6 },
    ]);
    expect(partitions.map(({ records: each }) => read(each).texts)).toEqual([["a"], ["a"]]);
  });

  it("A response that ends too early is an error", () => {
    expect(() => readFetchResponse(Buffer.from([0, 0, 0, 12, 0]), 17)).toThrow("they end too early");
  });
});

describe("a number of variable length", () => {
  it("A number of variable length is read exactly, up to the largest that a number can hold", () => {
    const encode = (value: bigint): Buffer => {
      const out: number[] = [];
      let rest = value >= 0n ? value * 2n : -value * 2n - 1n;
      for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
      return Buffer.from([...out, Number(rest)]);
    };
    const limit = 2n ** 52n - 1n;
    fc.assert(
      fc.property(fc.bigInt(-limit, limit), (value) => {
        expect(new ByteReader(encode(value)).signed()).toBe(Number(value));
      }),
    );
    expect(() => new ByteReader(Buffer.alloc(20, 0xff)).signed()).toThrow("ten bytes");
  });
});
