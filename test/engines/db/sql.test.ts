import { describe, expect, it } from "vitest";
import { quoteIdentifier, sql } from "../../../src/engines/db/sql/sql.js";

describe("sql", () => {
  it("The sql tag numbers its parameters", () => {
    const { text, params } = sql`select ${1}, ${"two"}`;
    expect({ text, params }).toEqual({ text: "select $1, $2", params: [1, "two"] });
  });

  it("Nested sql fragments are numbered in sequence", () => {
    const inner = sql`b = ${2} or ${sql.id("c")} = ${3}`;
    const { text, params } = sql`select * from t where a = ${1} and (${inner}) and d = ${4}`;
    expect(text).toBe('select * from t where a = $1 and (b = $2 or "c" = $3) and d = $4');
    expect(params).toEqual([1, 2, 3, 4]);
  });

  it("sql.join() joins values and fragments", () => {
    expect(sql`in (${sql.join([1, 2])})`.text).toBe("in ($1, $2)");
    const { text, params } = sql.join([sql`a = ${1}`, sql`b = ${2}`], " and ");
    expect({ text, params }).toEqual({ text: "a = $1 and b = $2", params: [1, 2] });
    expect(sql.join([]).text).toBe("");
  });

  it("sql.raw() inserts text unchanged", () => {
    expect(sql`select ${sql.raw("now()")}`.text).toBe("select now()");
    expect(() => sql.raw(5 as never)).toThrow("sql.raw takes a string");
  });

  it("Names with any characters are quoted", () => {
    expect(quoteIdentifier('a"b; drop')).toBe('"a""b; drop"');
    expect(sql.id("s", "t").text).toBe('"s"."t"');
    expect(() => quoteIdentifier("")).toThrow("non-empty");
    expect(() => quoteIdentifier("a\0")).toThrow("U+0000");
  });
});
