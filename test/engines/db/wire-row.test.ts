import { describe, expect, it } from "vitest";
import { WireRow } from "../../../src/engines/db/wire-row.js";

const int16 = (value: number): number[] => [value >> 8, value & 255];
const int32 = (value: number): number[] => [value >> 24, value >> 16, value >> 8, value].map((byte) => byte & 255);
const field = (text: string): number[] => [...int32(text.length), ...Buffer.from(text)];

const textsOf = (row: WireRow): (string | null)[] =>
  Array.from({ length: row.count }, (_, i) =>
    row.starts[i] === -1 ? null : row.bytes.toString("utf8", row.starts[i], row.ends[i]),
  );

describe("WireRow", () => {
  it("The fields of a row are found among other bytes", () => {
    const body = [...int16(4), ...field("1"), ...int32(-1), ...field(""), ...field("text")];
    const row = new WireRow();
    row.read(Buffer.from([9, 9, ...body, 9]), 2, 2 + body.length);
    expect(textsOf(row)).toEqual(["1", null, "", "text"]);
  });

  it("A row that was already read is accepted", () => {
    const row = new WireRow();
    row.fill(["1", null, "", "ö€😀"]);
    expect(textsOf(row)).toEqual(["1", null, "", "ö€😀"]);
  });

  it.each([
    ["a field beyond the end", [...int16(1), ...int32(2), 65]],
    ["a negative length", [...int16(1), ...int32(-2), 65]],
    ["fewer fields than announced", [...int16(2), ...field("a")]],
    ["more than its fields", [...int16(1), ...field("a"), 65]],
    ["more fields than there can be", [...int16(0xffff)]],
    ["nothing", []],
  ])("A row with %s is refused", (_, body) => {
    // The next bytes in the buffer belong to another message.
    const bytes = Buffer.from([...body, ...field("another"), 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(() => new WireRow().read(bytes, 0, body.length)).toThrow(/^a (row|field) /);
  });
});
