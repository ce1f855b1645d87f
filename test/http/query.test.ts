import { describe, expect, it } from "vitest";
import { Query } from "../../src/http/query.js";
import fc, { runs } from "../support/properties.js";

describe("the query", () => {
  it("A query gives the first value and all values of a name", () => {
    const query = new Query("a=1&b=2&a=3");
    expect(query.get("a")).toBe("1");
    expect(query.getAll("a")).toEqual(["1", "3"]);
    expect(query.getAll("c")).toEqual([]);
    expect(query.get("c")).toBeUndefined();
    expect(query.has("b")).toBe(true);
    expect(query.has("c")).toBe(false);
    expect(query.size).toBe(3);
    expect([...query.keys()]).toEqual(["a", "b"]);
    expect([...query]).toEqual([
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ]);
  });

  it.each<[string, [string, string][]]>([
    ["", []],
    ["&&", []],
    [
      "%&&+",
      [
        ["%", ""],
        [" ", ""],
      ],
    ],
    ["%41=", [["A", ""]]],
    [
      "%41=&=+",
      [
        ["A", ""],
        ["", " "],
      ],
    ],
    [
      "%3D%26=%26&%4",
      [
        ["=&", "&"],
        ["%4", ""],
      ],
    ],
    ["a", [["a", ""]]],
    ["a=", [["a", ""]]],
    ["=b", [["", "b"]]],
    ["a=b=c", [["a", "b=c"]]],
    [
      "a&b=c=d&",
      [
        ["a", ""],
        ["b", "c=d"],
      ],
    ],
    ["a+b=c+d", [["a b", "c d"]]],
    ["a%20b=%2B", [["a b", "+"]]],
    ["q=%C3%A9", [["q", "é"]]],
    ["q=é", [["q", "é"]]],
    ["q=%zz", [["q", "%zz"]]],
    ["q=%", [["q", "%"]]],
    ["q=%f", [["q", "%f"]]],
    ["q=%ff", [["q", "\ufffd"]]],
    ["q=é%ff%C3%A9%zz+", [["q", "é\ufffdé%zz "]]],
    ["q=%00", [["q", "\0"]]],
    ["q=a?b", [["q", "a?b"]]],
    ["a;b=1", [["a;b", "1"]]],
  ])("The query %j is read as the URL standard says", (text, entries) => {
    expect([...new Query(text)]).toEqual(entries);
  });

  it("A query of any text is read as by URLSearchParams", () => {
    const piece = fc.constantFrom(
      "a",
      "b",
      "=",
      "&",
      "+",
      "%",
      "%41",
      "%C3",
      "%a9",
      "%zz",
      "%4",
      "%2B%26%3D",
      "?",
      "x".repeat(600),
    );
    const text = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
    );
    fc.assert(
      fc.property(text, (query) => {
        // URLSearchParams takes a leading question mark for the beginning of the query, and that of Node.js spoils
        // characters above ASCII beside an escape that is not UTF-8.
        fc.pre(!query.startsWith("?") && (!query.includes("%") || /^[\x00-\x7f]*$/.test(query)));
        expect([...new Query(query)]).toEqual([...new URLSearchParams(query)]);
        expect([...new Query(`?${query}`, 1)]).toEqual([...new URLSearchParams(query)]);
      }),
      { numRuns: runs(1000) },
    );
  });

  it("A query with valid UTF-8 beside escapes of any bytes is read", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.uint8Array({ maxLength: 12 }), (text, bytes) => {
        const escapes = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
        const literal = text.replace(/[&=+%]/g, "");
        const expected = literal + Buffer.from(bytes).toString("utf8");
        fc.pre(literal !== "");
        expect([...new Query(`${literal}${escapes}=${literal}${escapes}`)]).toEqual([[expected, expected]]);
      }),
      { numRuns: runs(500) },
    );
  });

  it("Names without a value in a query do not take quadratic time", () => {
    // Quadratic, this takes minutes.
    expect(new Query("a&".repeat(500_000)).size).toBe(500_000);
    expect(new Query("%61&".repeat(500_000)).size).toBe(500_000);
    expect(new Query(`${"a&".repeat(500_000)}=`).size).toBe(500_001);
  });

  it("Names of prototype members in a query are plain keys", () => {
    const query = new Query("__proto__[x]=1&__proto__=2&constructor=3&__proto__=4");
    const object = query.toJSON();
    expect(Object.getPrototypeOf(object)).toBeNull();
    expect(Object.entries(object)).toEqual([
      ["__proto__[x]", "1"],
      ["__proto__", ["2", "4"]],
      ["constructor", "3"],
    ]);
    expect("x" in {}).toBe(false);
    expect(query.get("toString")).toBeUndefined();
  });

  it("A query becomes an object with a string per name, or a list", () => {
    expect({ ...new Query("a=1&b=2&a=3&a=4").toJSON() }).toEqual({ a: ["1", "3", "4"], b: "2" });
  });

  it("A query of thousands of pairs is read", () => {
    const query = new Query(Array.from({ length: 3000 }, (_, i) => `k${i}=${i}`).join("&"));
    expect(query.size).toBe(3000);
    expect(query.get("k2999")).toBe("2999");
  });
});
