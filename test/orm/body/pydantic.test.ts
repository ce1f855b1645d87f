import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { columnCheck } from "../../../src/orm/body/column-check.js";
import { readDecimal } from "../../../src/orm/body/decimal-text.js";
import { readJsonBody } from "../../../src/orm/body/json-body.js";
import { Refusal } from "../../../src/orm/body/refusal.js";
import * as columnTypes from "../../../src/orm/fields/column-types.js";
import type { ColumnType } from "../../../src/orm/meta.js";

/** What pydantic makes of JSON texts; fixtures/README.md tells how the tables are made. */

type Outcome =
  | { ok: string }
  | { type: string; msg: string }
  | { issues: { type: string; msg: string; loc: number[] }[] };

function table(name: string): [text: string, outcome: Outcome][] {
  return JSON.parse(readFileSync(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
}

/** What a column makes of a JSON text. */
function read(type: ColumnType, text: string): unknown {
  const column = columnCheck(type);
  const body = readJsonBody(Buffer.from(text), true, 1000)!;
  return body.value === null ? column.onNull : column.check(body.value, body);
}

const micros = (date: unknown): string => String(BigInt((date as Date).getTime()) * 1000n);

/** Years of 365 and months of 30 days, as Python has it. */
function intervalMicros(text: unknown): string {
  const form = /^P(?:([-\d.]+)Y)?(?:([-\d.]+)M)?(?:([-\d.]+)D)?(?:T([-\d.]+)S)?$/;
  const [years, months, days, seconds] = form
    .exec(text as string)!
    .slice(1)
    .map((part) => millionths(part ?? "0"));
  return String((years! * 365n + months! * 30n + days!) * 86_400n + seconds!);
}

function millionths(text: string): bigint {
  const [units, fraction = ""] = text.split(".");
  return BigInt(units + fraction.padEnd(6, "0"));
}

interface Case {
  readonly type: ColumnType;
  /** The value in the form that the table shows. */
  readonly show?: (value: unknown) => string;
  /** What is expected where the contract says something else than pydantic, or where a message would quote the input. */
  readonly expected?: (outcome: Outcome, text: string) => object;
}

/** The contract has one name for all that is above or below the range of a column. */
const bounds =
  (min: number | bigint, max: number | bigint): Case["expected"] =>
  (outcome, text) => {
    if (!("type" in outcome) || !["int_parsing_size", "finite_number"].includes(outcome.type)) return outcome;
    return text.startsWith("-")
      ? { type: "greater_than_equal", msg: `Input should be greater than or equal to ${min}` }
      : { type: "less_than_equal", msg: `Input should be less than or equal to ${max}` };
  };

const without =
  (pattern: RegExp): Case["expected"] =>
  (outcome) =>
    "msg" in outcome ? { ...outcome, msg: outcome.msg.replace(pattern, "") } : outcome;

const nulls: Case["expected"] = (outcome, text) =>
  text.includes("\\u0000")
    ? { type: "string_null_byte", msg: "String should not contain null characters (U+0000)" }
    : outcome;

const moments = new Map<string, Outcome & object>(table("datetime"));

const cases: Record<string, Case> = {
  "small-int": { type: columnTypes.smallInt, expected: bounds(-32768, 32767) },
  int: { type: columnTypes.int, expected: bounds(-2147483648, 2147483647) },
  "big-int": { type: columnTypes.bigInt, expected: bounds(-(2n ** 63n), 2n ** 63n - 1n) },
  float: {
    type: columnTypes.float,
    show: (value) => String(value),
    expected: (o) => ("ok" in o ? { ok: String(Number(o.ok)) } : o),
  },
  bool: { type: columnTypes.bool },
  char: { type: columnTypes.char(3), expected: nulls },
  "char-one": { type: columnTypes.char(1) },
  datetime: {
    type: columnTypes.datetime,
    show: micros,
    expected: (outcome) => {
      if ("ok" in outcome) return { ok: String(BigInt(outcome.ok) - (((BigInt(outcome.ok) % 1000n) + 1000n) % 1000n)) };
      return "type" in outcome ? { ...outcome, type: outcome.type.replace("_from_date", "") } : outcome;
    },
  },
  // A timestamp is taken as UTC here, where pydantic refuses it; the reasons are those of the datetimes above.
  "local-datetime": {
    type: columnTypes.localDatetime,
    show: (value) => localMicros(value as string),
    expected: (outcome, text) => {
      if (!("type" in outcome)) return outcome;
      if (/^"?[+-]?[\d.e]+"?$/.test(text) && outcome.type === "timezone_naive") return moments.get(text)!;
      return { type: outcome.type.replace("_from_date", "") };
    },
  },
  date: { type: columnTypes.date },
  time: {
    type: columnTypes.zonedTime,
    show: (value) => zonedTime(value as string),
    expected: (o) => {
      if (!("ok" in o)) return o;
      const [time, minutes = "0"] = o.ok.split(" ");
      if (Math.abs(Number(minutes)) < 960) return { ok: `${time} ${minutes}` };
      return {
        type: "time_parsing",
        msg: "Input should be in a valid time format, timezone offset must be less than 16 hours",
      };
    },
  },
  interval: {
    type: columnTypes.interval,
    show: intervalMicros,
    expected: (o) => ("type" in o && !o.msg.endsWith("999,999,999 days") ? { type: o.type } : o),
  },
  decimal: {
    type: columnTypes.decimal(undefined, undefined),
    show: plain,
    expected: (o) => ("ok" in o ? { ok: plain(o.ok) } : o),
  },
  "decimal-5-2": {
    type: columnTypes.decimal(5, 2),
    show: plain,
    expected: (o) => ("ok" in o ? { ok: plain(o.ok) } : o),
  },
  "decimal-1-1": {
    type: columnTypes.decimal(1, 1),
    show: plain,
    expected: (o) => ("ok" in o ? { ok: plain(o.ok) } : o),
  },
  uuid: { type: columnTypes.uuid, expected: without(/, invalid .*/) },
  bytes: {
    type: columnTypes.bytes,
    show: (value) => Buffer.from(value as Uint8Array).toString("hex"),
    expected: without(/: Invalid .*/),
  },
  enum: { type: columnTypes.enumeration(["draft", "published", "sold_out"], undefined) },
  "enum-odd": {
    type: columnTypes.enumeration(
      ["it's", 'say "x"', "a\\b", "new\nline\t\x07", "both ' and \"", "caf\u00e9"],
      undefined,
    ),
  },
};

function localMicros(text: string): string {
  const [seconds, fraction = ""] = text.split(".");
  return String(BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, "0")));
}

function plain(text: unknown): string {
  const { negative, digits, exponent } = readDecimal(text as string)!;
  return digits === "" ? "0" : `${negative ? "-" : ""}${digits}e${exponent}`;
}

function zonedTime(text: string): string {
  const [, time, sign, hours, minutes] = /^(.*)([+-])(\d\d):(\d\d)$/.exec(text)!;
  return `${time} ${(sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) || 0}`;
}

/** Accidents of pydantic's parsers that nobody can rely on, and numbers that are exact here and rounded there. */
const apart = new Set([
  'small-int "0__0"',
  'int "0__0"',
  'big-int "0__0"',
  'interval "00:00:00.1234567:"',
  // As PostgreSQL writes it.
  'time "12:34+01"',
  // A moment of the year 0, in UTC.
  'datetime "0001-01-01T00:00:00+01:00"',
  "big-int 0.99999999999999999999",
  "bool 9223372036854775807",
  "bool -9223372036854775808",
]);

describe("agreement with pydantic", () => {
  it.each(Object.entries(cases))(
    "A column of type %s reads JSON as pydantic does",
    (name, { type, show = String, expected }) => {
      const rows = table(name).filter(([text]) => !apart.has(`${name} ${text}`));
      const found = rows.map(([text, outcome]) => [
        text,
        told(read(type, text), show, Object.keys(wanted(text, outcome))),
      ]);
      expect(found).toEqual(rows.map(([text, outcome]) => [text, wanted(text, outcome)]));

      function wanted(text: string, outcome: Outcome): object {
        return expected?.(outcome, text) ?? outcome;
      }
    },
  );

  it("An array of integers reads JSON as pydantic does, with the positions of the wrong items", () => {
    for (const [text, outcome] of table("int-array")) {
      const result = read(columnTypes.array(columnTypes.int), text);
      if ("ok" in outcome) expect([text, result]).toEqual([text, JSON.parse(outcome.ok)]);
      else expect([text, places(result as Refusal)]).toEqual([text, (outcome as { issues: object[] }).issues]);
    }
  });

  function told(result: unknown, show: (value: unknown) => string, keys: string[]): object {
    const all: Record<string, unknown> =
      result instanceof Refusal ? { type: result.type, msg: result.msg } : { ok: show(result) };
    // A message that is not compared is left out; what should have been refused and was not stands out by its key.
    return "ok" in all
      ? all
      : Object.fromEntries(keys.includes("ok") ? Object.entries(all) : keys.map((key) => [key, all[key]]));
  }

  function places({ type, msg, items }: Refusal): object[] {
    if (items === undefined) return [{ type, msg, loc: [] }];
    return [...items].map(([index, item]) => ({ type: item.type, msg: item.msg, loc: [index] }));
  }
});
