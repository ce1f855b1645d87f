import { deflateSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { codecOf } from "../../../src/apis/grpc/codec/codecs.js";
import { CompiledCodec } from "../../../src/apis/grpc/codec/compiled-codec.js";
import { StructCodec } from "../../../src/apis/grpc/codec/struct-codec.js";
import { loadProto } from "../../../src/apis/grpc/proto/load.js";
import { decompress } from "../../../src/apis/grpc/wire/compression.js";
import fc, { runs } from "../../support/properties.js";
import { EchoRequestSchema, type Everything, EverythingSchema, type Mood, SpecialSchema } from "./fixtures/echo_pb.js";

const codec = codecOf(EverythingSchema);
const bodyOf = (frame: Buffer): Uint8Array => Uint8Array.from(frame.subarray(5));

const full = create(EverythingSchema, {
  aDouble: -1.5,
  aFloat: 0.25,
  anInt64: -9_223_372_036_854_775_808n,
  aUint64: 18_446_744_073_709_551_615n,
  anInt32: -5,
  aFixed64: 7n,
  aFixed32: 4_294_967_295,
  aBool: true,
  aString: "grüße 😈",
  aBytes: new Uint8Array([0, 255]),
  aUint32: 4_000_000_000,
  aSfixed32: -9,
  aSfixed64: -10n,
  aSint32: -2_147_483_648,
  aSint64: -11n,
  mood: 2,
  inner: { name: "in", children: [{ name: "a" }, { name: "b", children: [{ name: "c".repeat(300) }] }] },
  maybeInt: 0,
  maybeText: "",
  maybeMood: 0,
  ints: [1, -1, 300],
  texts: ["", "x"],
  inners: [{ name: "1" }, {}],
  moods: [0, 1, 77 as Mood],
  doubles: [0.1, Number.NaN, Number.NEGATIVE_INFINITY],
  longs: [1n, -1n],
  unpacked: [-1, 1],
  counts: { a: 1, "": 0, __proto: 3 },
  byNumber: { [-1]: { name: "minus" }, 7: {} },
  byFlag: { true: "t", false: "f" },
  byLong: { "-9": new Uint8Array([9]) },
  choice: { case: "choiceInner", value: { name: "chosen" } },
  time: timestampFromDate(new Date(1_700_000_000_123)),
  blobs: [new Uint8Array(0), new Uint8Array(200)],
  textLong: "12345678901234",
  flags: [true, false],
  floats: [1, 2],
  fixeds: [1n],
});

/** Any message of the type, in the form that handlers return. */
const messages = fc.record(
  {
    aDouble: fc.double(),
    aFloat: fc.float(),
    anInt64: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    aUint64: fc.bigInt(0n, 2n ** 64n - 1n),
    anInt32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    aFixed32: fc.nat({ max: 2 ** 32 - 1 }),
    aBool: fc.boolean(),
    aString: fc.string({ unit: "grapheme", maxLength: 60 }),
    aBytes: fc.uint8Array({ maxLength: 300 }),
    aSint64: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    maybeInt: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    ints: fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
    texts: fc.array(fc.string()),
    inners: fc.array(fc.record({ name: fc.string() })),
    counts: fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    ),
    choice: fc.oneof(
      fc.record({ case: fc.constant("choiceText" as const), value: fc.string() }),
      fc.record({ case: fc.constant("choiceNumber" as const), value: fc.integer({ min: -5, max: 5 }) }),
    ),
  },
  { requiredKeys: [] },
);

describe("compiled codecs against the library", () => {
  it("A message with every kind of field is read by the library as it was", () => {
    expect(codec).toBeInstanceOf(CompiledCodec);
    expect(fromBinary(EverythingSchema, bodyOf(codec.encode(full)))).toEqual(full);
  });

  it("A message of the library is read as the library reads it", () => {
    const bytes = toBinary(EverythingSchema, full);
    expect(codec.decode(bytes)).toEqual(fromBinary(EverythingSchema, bytes));
    expect(codec.decode(new Uint8Array(0))).toEqual(create(EverythingSchema));
  });

  it("Any message has the same bytes", () => {
    fc.assert(
      fc.property(messages, (message) => {
        const expected = toBinary(EverythingSchema, create(EverythingSchema, message));
        expect(Buffer.from(bodyOf(codec.encode(message)))).toEqual(Buffer.from(expected));
        expect(codec.decode(expected)).toEqual(fromBinary(EverythingSchema, expected));
      }),
    );
  });

  it("Any change of a message is read or refused with an error", () => {
    const valid = toBinary(EverythingSchema, full);
    const changes = fc.array(fc.tuple(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 })), { maxLength: 4 });
    fc.assert(
      fc.property(changes, fc.nat({ max: valid.length }), (changed, cut) => {
        const bytes = Uint8Array.from(valid);
        for (const [at, byte] of changed) bytes[at] = byte;
        let outcome: unknown;
        try {
          outcome = codec.decode(bytes.subarray(0, cut));
        } catch (error) {
          outcome = error;
        }
        expect(outcome).toBeTypeOf("object");
      }),
      { numRuns: runs(500) },
    );
  });

  it("Unknown fields are kept and sent again", () => {
    const bytes = toBinary(EverythingSchema, full);
    const narrow = codecOf(EchoRequestSchema);
    const unknown = Buffer.concat([Buffer.from([0xf8, 0x07, 0x01]), Buffer.from([0x0a, 0x01, 0x61])]);
    const read = narrow.decode(unknown) as { text: string; $unknown: unknown[] };
    expect(read.text).toBe("a");
    expect(read.$unknown).toHaveLength(1);
    expect(Buffer.from(bodyOf(narrow.encode(read))).includes(Buffer.from([0xf8, 0x07, 0x01]))).toBe(true);
    expect(bytes.length).toBeGreaterThan(0);
  });

  it("A group that the type does not have is skipped, kept and sent again", () => {
    const narrow = codecOf(EchoRequestSchema);
    // Field 99 is a group with a number, a text, and a group with the number 5 in it.
    const group = Buffer.from([0x9b, 0x06, 0x08, 0x01, 0x12, 0x01, 0x61, 0x2b, 0x08, 0x02, 0x2c, 0x9c, 0x06]);
    const bytes = Uint8Array.from([...group, 0x0a, 0x01, 0x61]);
    const read = narrow.decode(bytes) as { text: string };
    expect(read).toEqual(fromBinary(EchoRequestSchema, bytes));
    expect(bodyOf(narrow.encode(read))).toEqual(toBinary(EchoRequestSchema, fromBinary(EchoRequestSchema, bytes)));
    expect(narrow.decode(Buffer.concat([manyFields(10_001), bytes]))).toMatchObject({ text: "a" });
  });

  it.each([
    ["a group without an end", [0x9b, 0x06, 0x08, 0x01]],
    ["the end of another group", [0x9b, 0x06, 0x2c]],
    ["an end without a group", [0x9c, 0x06]],
    ["groups that are nested too deeply", Array.from({ length: 400 }, (_, i) => (i < 200 ? 0x2b : 0x2c))],
    ["a number of a field with more than 32 bits", [0x8a, 0x80, 0x80, 0x80, 0x10, 0x01, 0x61]],
    ["a length with more than 32 bits", [0x0a, 0x81, 0x80, 0x80, 0x80, 0x10, 0x61]],
    [
      "a length with more than 32 bits of a field that the type does not have",
      [0xfa, 0x07, 0x81, 0x80, 0x80, 0x80, 0x10, 0x61],
    ],
  ])("A message with %s is refused", (_what, bytes) => {
    expect(() => codecOf(EchoRequestSchema).decode(Uint8Array.from(bytes))).toThrow(RangeError);
  });

  it("A number of a field that is padded with zeros is read", () => {
    expect(
      codecOf(EchoRequestSchema).decode(Uint8Array.from([0x8a, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01, 0x61])),
    ).toMatchObject({
      text: "a",
    });
  });

  it.each([
    ["of proto3", "proto3", (fields: Buffer) => fields],
    ["of proto2", "proto2", (fields: Buffer) => fields],
    ["in a list of messages of proto2", "proto2", (fields: Buffer) => inField(2, fields)],
    ["in a map of messages of proto2", "proto2", (fields: Buffer) => inField(3, inField(2, fields))],
  ])("A message does not keep more than ten thousand unknown fields: %s", (_where, syntax, wrap) => {
    const [type] = loadProto(`
      syntax = "${syntax}";
      message Tree { ${syntax === "proto2" ? "optional" : ""} string text = 1; repeated Tree list = 2; map<int32, Tree> map = 3; }
    `).messages;
    const tree = codecOf(type!);
    const text = inField(1, Buffer.from("kept"));
    const few = tree.decode(Buffer.concat([text, wrap(manyFields(10_000))]));
    const many = tree.decode(Buffer.concat([text, wrap(manyFields(10_001))]));
    expect(many).toMatchObject({ text: "kept" });
    expect([countUnknown(few), countUnknown(many) <= 10_000]).toEqual([10_000, true]);
  });

  describe.each(["proto3", "proto2"])("Many small parts of a message of %s", (syntax) => {
    const optional = syntax === "proto2" ? "optional" : "";
    const [type] = loadProto(`
      syntax = "${syntax}";
      message Tree { ${optional} string text = 1; repeated Tree list = 2; map<int32, Tree> map = 3; repeated bytes blobs = 4;
        repeated int32 numbers = 5; repeated int64 longs = 6; repeated fixed32 fixed = 7; }
    `).messages;
    const tree = codecOf(type!);

    const lengthOf = (message: unknown, list: string): number => (message as Record<string, unknown[]>)[list]!.length;

    it.each([
      ["Numbers of one byte", 5, "numbers", 5_000_000],
      ["Integers of 64 bits", 6, "longs", 1_500_000],
    ])("%s in a packed list are refused before they fill the memory", (_what, field, name, tooMany) => {
      expect(() => tree.decode(inField(field, Buffer.alloc(tooMany)))).toThrow("too many parts");
      expect(lengthOf(tree.decode(inField(field, Buffer.alloc(1_000_000))), name)).toBe(1_000_000);
    });

    it("Numbers of four bytes in a packed list take no more memory than a message of their size may", () => {
      expect(lengthOf(tree.decode(inField(7, Buffer.alloc(12_000_000))), "fixed")).toBe(3_000_000);
    });

    it("Numbers in a list that is not packed are refused before they fill the memory", () => {
      const longs = (count: number): Buffer => Buffer.alloc(2 * count, Buffer.from([6 << 3, 1]));
      expect(() => tree.decode(longs(1_500_000))).toThrow("too many parts");
      expect(lengthOf(tree.decode(longs(100_000)), "longs")).toBe(100_000);
    });

    it("Numbers in a list in JSON are refused before they fill the memory, and commas in texts are not", () => {
      const json = (count: number): string =>
        `{"longs":[0${",0".repeat(count - 1)}],"text":"${",".repeat(2_000_000)}"}`;
      expect(() => tree.fromJson(json(2_500_000))).toThrow("too many parts");
      expect(lengthOf(tree.fromJson(json(100_000)), "longs")).toBe(100_000);
    });

    it.each([
      ["empty messages in a list", 2, Buffer.alloc(0)],
      ["empty messages in a map", 3, Buffer.from([0x12, 0])],
      ["entries without a value", 3, Buffer.alloc(0)],
      ["empty bytes", 4, Buffer.alloc(0)],
    ])("%s are refused before they fill the memory", (_what, field, part) => {
      const parts = (count: number): Buffer => Buffer.concat(new Array(count).fill(inField(field, part)));
      expect(() => tree.decode(parts(1_000_000))).toThrow("too many parts");
      expect(tree.decode(parts(10_000))).toBeTypeOf("object");
    });

    it("Empty messages in JSON are refused before they fill the memory, and braces in texts are not", () => {
      const json = (count: number, part: string): string => `{"list":[${new Array(count).fill(part).join(",")}]}`;
      expect(() => tree.fromJson(json(1_000_000, "{}"))).toThrow("too many parts");
      expect(tree.fromJson(json(10_000, "{}"))).toMatchObject({ list: { length: 10_000 } });
      expect(tree.fromJson(json(1, `{"text":"${'{\\"'.repeat(500_000)}"}`))).toMatchObject({ list: { length: 1 } });
    });
  });

  it("A map with the key __proto__ has it as its own", () => {
    const bytes = Buffer.concat([
      Buffer.from([0xe2, 0x01, 13, 0x0a, 9]),
      Buffer.from("__proto__"),
      Buffer.from([0x10, 5]),
    ]);
    const { counts } = codec.decode(bytes) as Everything;
    expect(Object.hasOwn(counts, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(counts)).toBe(Object.prototype);
  });

  it.each([
    [{ aString: 5 }, "aString: a string is expected"],
    [{ anInt32: 1.5 }, "anInt32: an integer of 32 bits is expected"],
    [{ anInt32: 2 ** 31 }, "anInt32: an integer of 32 bits is expected"],
    [{ aUint32: -1 }, "aUint32: a positive integer of 32 bits is expected"],
    [{ anInt64: 2n ** 63n }, "anInt64: an integer of 64 bits is expected"],
    [{ aBytes: "x" }, "aBytes: bytes are expected"],
    [{ inner: 3 }, "inner: a message is expected"],
    [{ ints: 3 }, "ints: a list is expected"],
    [{ aBool: 1 }, "aBool: true or false is expected"],
    [7, "a message is an object"],
  ])("The message %o is refused with the name of its field", (message, reason) => {
    expect(() => codec.encode(message)).toThrow(reason);
  });

  it.each([
    ["a length beyond the end", [0x0a, 0x05, 0x61]],
    ["a varint without an end", [0x28, 0xff, 0xff]],
    ["the field number 0", [0x00, 0x00]],
    ["text that is not UTF-8", [0x4a, 0x01, 0xff]],
    ["a wire type that does not exist", [0x0f]],
  ])("A message with %s is refused", (_name, bytes) => {
    expect(() => codec.decode(Uint8Array.from(bytes))).toThrow();
  });

  it("A message that is nested too deeply is refused", () => {
    let bytes = Buffer.alloc(0);
    for (let i = 0; i < 150; i++) bytes = Buffer.concat([Buffer.from([0x12]), length(bytes.length), bytes]);
    expect(() => codec.decode(Buffer.concat([Buffer.from([0x8a, 0x01]), length(bytes.length), bytes]))).toThrow(
      "too deeply",
    );
  });

  it("Types with forms of their own are left to the library", () => {
    const special = codecOf(SpecialSchema);
    const message = { wrapped: "text", struct: { a: [1, null, { b: true }] } };
    expect(special.decode(bodyOf(special.encode(message)))).toMatchObject(message);
  });
});

describe("the codec of google.protobuf.Struct", () => {
  const struct = new StructCodec();

  it("Any JSON object survives the wire", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const plain = JSON.parse(JSON.stringify(object));
        expect(struct.decode(bodyOf(struct.encode(plain)))).toEqual(plain);
      }),
    );
  });

  it("Results are sent as JSON would send them", () => {
    const frame = struct.encode({ date: new Date(0), map: new Map([["a", 1]]), big: 5n, gone: undefined });
    expect(struct.decode(bodyOf(frame))).toEqual({ date: "1970-01-01T00:00:00.000Z", map: { a: 1 }, big: "5" });
    expect(struct.decode(bodyOf(struct.encode(undefined)))).toEqual({});
    expect(() => struct.encode([1])).toThrow("a message is an object");
    expect(() => struct.encode("x")).toThrow("a message is an object");
  });

  it("The key __proto__ is a plain key", () => {
    const frame = struct.encode(JSON.parse('{"__proto__": {"polluted": true}}'));
    const read = struct.decode(bodyOf(frame)) as object;
    expect(Object.hasOwn(read, "__proto__")).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("Objects and lists that are nested too deeply are refused in both directions", () => {
    let deep: unknown = {};
    for (let i = 0; i < 200; i++) deep = { deep };
    expect(() => struct.encode({ deep })).toThrow("too deeply");
    let bytes = Buffer.alloc(0);
    for (let i = 0; i < 401; i++)
      bytes = Buffer.concat([Buffer.from([i % 2 ? 0x0a : 0x32]), length(bytes.length), bytes]);
    expect(() => struct.decode(entry(bytes))).toThrow();
  });
});

/** A field of a Struct with the bytes of a Value. */
function entry(value: Buffer): Buffer {
  const inner = Buffer.concat([Buffer.from([0x0a, 1, 0x61, 0x12]), length(value.length), value]);
  return Buffer.concat([Buffer.from([0x0a]), length(inner.length), inner]);
}

function length(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return Buffer.from([...bytes, value]);
}

/** Unknown fields of two bytes each. */
function manyFields(count: number): Buffer {
  return Buffer.from(Array.from({ length: 2 * count }, (_, i) => (i % 2 === 0 ? 0x78 : 0)));
}

function inField(number: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>= 7) {
    length.push(rest >= 128 ? (rest & 127) | 128 : rest);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

/** Unknown fields of a message and of all messages in it. */
function countUnknown(value: unknown): number {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return 0;
  const { $unknown = [], ...rest } = value as { $unknown?: unknown[] };
  return Object.values(rest).reduce<number>((sum, item) => sum + countUnknown(item), $unknown.length);
}

describe("compression", () => {
  it("A small message that becomes a large one is decompressed beside other work, not before it", async () => {
    const small = decompress(gzipSync(Buffer.alloc(10_000)), "gzip", 4_000_000);
    expect(small).toHaveLength(10_000);
    const large = decompress(gzipSync(Buffer.alloc(2_000_000)), "gzip", 4_000_000);
    expect(large).toBeInstanceOf(Promise);
    expect(await large).toHaveLength(2_000_000);
    await expect(decompress(deflateSync(Buffer.alloc(2_000_000)), "deflate", 1_000_000)).rejects.toThrow("1000000");
  });
});
