import { describe, expect, it } from "vitest";
import { decoderOf } from "../../../../src/engines/db/values/decode.js";
import { oid } from "../../../../src/engines/db/values/oids.js";
import { readerOf } from "../../../../src/engines/db/values/read.js";
import fc from "../../../support/properties.js";

/** Reads a text from the middle of a buffer, as it is in a row. */
const read = (type: number, text: string): unknown => {
  const before = Buffer.from("12-");
  const bytes = Buffer.concat([before, Buffer.from(text), Buffer.from("00 BC")]);
  return readerOf(type)(bytes, before.length, bytes.length - 5);
};

const agrees = (type: number, text: string): void => {
  expect(read(type, text)).toEqual(decoderOf(type)(text));
};

describe("values read from bytes and from text", () => {
  it("Integers read from bytes equal those read from text", () => {
    fc.assert(fc.property(fc.integer(), (value) => agrees(oid.int4, String(value))));
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => agrees(oid.int8, `${value}`)),
    );
    for (const text of ["0", "-1", "9007199254740991", "9007199254740992", "-9223372036854775808"])
      agrees(oid.int8, text);
    for (const text of ["0", "-32768", "32767"]) agrees(oid.int2, text);
    agrees(oid.oid, "4294967295");
  });

  it("Floating point numbers read from bytes equal those read from text", () => {
    fc.assert(fc.property(fc.double(), (value) => agrees(oid.float8, String(value))));
    const short = fc.tuple(fc.boolean(), fc.nat(999_999_999), fc.nat(99_999));
    fc.assert(
      fc.property(short, ([negative, whole, fraction]) =>
        agrees(oid.float8, `${negative ? "-" : ""}${whole}.${fraction}`),
      ),
    );
    for (const text of ["-0", "0", "0.1", "1e+20", "1.5e-07", "NaN", "Infinity", "-Infinity", "123456789012.345"]) {
      agrees(oid.float8, text);
      agrees(oid.float4, text);
    }
    expect(Object.is(read(oid.float8, "-0"), -0)).toBe(true);
  });

  it("Booleans, texts, bytes, JSON and arrays read from bytes equal those read from text", () => {
    for (const text of ["t", "f"]) agrees(oid.bool, text);
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => agrees(oid.text, text)));
    agrees(oid.bytea, "\\x00ff");
    agrees(oid.jsonb, '{"a": ["ö"]}');
    agrees(1007, "{1,NULL,-3}");
  });

  it.each([
    "2024-05-01 12:34:56",
    "2024-05-01 12:34:56.7",
    "2024-05-01 12:34:56.07",
    "2024-05-01 12:34:56.078999",
    "2024-05-01 12:34:56+00",
    "2024-05-01 12:34:56.078999+00",
    "2024-05-01 00:30:00+05:30",
    "2024-05-01 00:30:00.25-08",
    "2024-05-01 00:30:00.5+01:00",
    "1880-01-01 00:00:00+00:17:30",
    "0001-01-01 00:00:00",
    "0099-12-31 23:59:59.999+00",
    "0001-12-31 00:00:00 BC",
    "0005-02-29 00:00:00+00 BC",
    "12024-01-01 00:00:00+00",
    "infinity",
    "-infinity",
  ])("The moment %s read from bytes equals that read from text", (text) => {
    agrees(oid.timestamptz, text);
    agrees(oid.timestamp, text);
  });
});
