import * as orm from "../../../src/entry/orm.js";
import { isLong } from "../../support/long.js";
import * as shop from "./shop.js";

const { City, Author, Tag, Book, Note } = shop;
const allOf = async (rows: AsyncIterable<unknown>): Promise<unknown[]> => {
  const list: unknown[] = [];
  for await (const row of rows) list.push(row);
  return list;
};
const scope = { ...orm, City, Author, Tag, Book, Note, allOf };

/** Runs code of the ORM, in which all of its functions and the models are known. Null if it is refused. */
export async function evaluated(code: string): Promise<{ readonly value: unknown } | null> {
  try {
    return { value: await new Function(...Object.keys(scope), `return ${code}`)(...Object.values(scope)) };
  } catch (error) {
    if (error instanceof orm.FieldError) return null;
    if (error instanceof Error) error.message = `${code}\n${error.message}`;
    throw error;
  }
}

/** Rows in one form: averages are computed in types of different exactness. */
export function plain(given: unknown): unknown {
  return JSON.parse(
    JSON.stringify(given, (_key, value: unknown) => {
      if (typeof value === "bigint") return Number(value);
      if (typeof value === "number") return Number(value.toFixed(6));
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }),
  );
}

const { STOA_SEED, STOA_CASES } = process.env;

/** The seeds of the cases: the same ones each time, unless `STOA_SEED=random`. `STOA_CASES` says how many. */
export function seeds(count: number, many: number): number[] {
  const first = STOA_SEED === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(STOA_SEED ?? 2026);
  const length = Number(STOA_CASES ?? (isLong ? many : count));
  return Array.from({ length }, (_, index) => first + index);
}

/** Differences after which a run ends. */
const most = 20;

/** Collects a few differences, each with its seed, and stops then. `atOnce` cases are compared at a time. */
export async function differences(
  all: readonly number[],
  atOnce: number,
  compare: (seed: number) => Promise<string | null>,
): Promise<{ readonly found: string[]; readonly compared: number }> {
  const found: string[] = [];
  const left = [...all].reverse();
  let compared = 0;
  const work = async (): Promise<void> => {
    for (let seed = left.pop(); seed !== undefined && found.length < most; seed = left.pop()) {
      const difference = await compare(seed).catch((error: Error) => error.message);
      if (difference === refused) continue;
      compared++;
      if (difference !== null) found.push(`STOA_SEED=${seed} STOA_CASES=1\n${difference}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { found, compared };
}

/** The result of a comparison for a chain of calls that the ORM refuses. */
export const refused = "refused";
