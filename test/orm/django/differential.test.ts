import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { bindDatabase, createTables, Q } from "../../../src/entry/orm.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { differences } from "./differences.js";
import { Book, fill, shop } from "./models.js";
import { lookupPairs, type Pair, pairs } from "./pairs.js";
import { combined, leavesOf, randomTrees, type Tree } from "./trees.js";

const server = service("postgres") ?? "";
const python = (isLong ? service("django") : undefined) ?? "";

type Result = { readonly value: unknown } | { readonly error: string };

const all: readonly Pair[] = [...pairs, ...lookupPairs(), ...differences.map(({ pair }) => pair)];
const trees = randomTrees(5000);

describe.skipIf(server === "" || python === "")("the same queries with Django", () => {
  const name = `stoa_django_${process.pid}`;
  let admin: Database;
  let db: Database;
  let judged: { readonly pairs: readonly Result[]; readonly trees: readonly Result[] };

  beforeAll(async () => {
    admin = await openDatabase({ url: server, poolSize: 1 });
    await admin.execute(`create database ${name}`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    db = await openDatabase({ url: url.href, poolSize: 4 });
    bindDatabase(db);
    await createTables(db, shop);
    await fill();
    await db.execute("analyze");
    judged = await judge(
      all.map(([, django]) => django),
      trees,
    );
  }, 300_000);

  afterAll(async () => {
    bindDatabase(null);
    await db?.close();
    await admin?.execute(`drop database if exists ${name} with (force)`);
    await admin?.close();
  });

  it("At least 300 queries return what Django returns", { timeout: 120_000 }, async () => {
    const known = all.length - differences.length;
    expect(known).toBeGreaterThanOrEqual(300);
    const wrong: string[] = [];
    for (let i = 0; i < known; i++) {
      const [ours, django] = all[i]!;
      const [mine, theirs] = [await outcome(ours), judged.pairs[i]!];
      if (!("value" in theirs) || !same(mine, theirs)) wrong.push(JSON.stringify({ django, mine, theirs }));
    }
    expect(wrong).toEqual([]);
  });

  /**
   * Django returns other rows for a few conditions than for their parts: it joins a relation once that is used under a
   * negation and beside it. There the parts decide, each of them judged by Django alone.
   */
  it("Random conditions, 5,000 of them, choose the rows that Django chooses", { timeout: 240_000 }, async () => {
    const doubtful: { readonly tree: Tree; readonly mine: Result }[] = [];
    for (let i = 0; i < trees.length; i += 50) {
      const part = trees.slice(i, i + 50);
      const found = await Promise.all(
        part.map((tree) => outcome(() => Book.objects.filter(condition(tree)).orderBy("id"))),
      );
      found.forEach((mine, index) => {
        if (!same(mine, judged.trees[i + index]!)) doubtful.push({ tree: part[index]!, mine });
      });
    }
    expect(doubtful.length).toBeLessThan(25);
    const leaves = doubtful.flatMap(({ tree }) => leavesOf(tree));
    const parts = await judge([], leaves);
    const ids = await Book.objects.orderBy("id").flat("id");
    for (const { tree, mine } of doubtful) {
      const rowsOf = (leaf: Tree): number[] => {
        const part = parts.trees[leaves.indexOf(leaf as (typeof leaves)[number])]!;
        return "value" in part ? (part.value as number[]) : [];
      };
      expect({ tree, ...mine }).toEqual({ tree, value: combined(tree, ids, rowsOf) });
    }
  });

  it.each(differences.map((difference, index) => [difference.why, index] as const))(
    "A query differs from Django by design: %s",
    async (_, index) => {
      const { pair, sql } = differences[index]!;
      const mine = await outcome(pair[0]);
      expect(mine).toEqual({ value: plain(await db.fetchval(sql)) });
      expect(same(mine, judged.pairs[all.length - differences.length + index]!)).toBe(false);
    },
  );

  async function judge(queries: readonly string[], conditions: readonly Tree[]): Promise<typeof judged> {
    const url = new URL(server!);
    const given = {
      database: { NAME: name, HOST: url.hostname, PORT: url.port, USER: decodeURIComponent(url.username) },
      joinTable: Book.meta.relations.get("tags")!.through!.meta.table,
      pairs: queries,
      trees: conditions,
    };
    const child = spawn(python!, [join(import.meta.dirname, "judge.py")], { stdio: ["pipe", "pipe", "pipe"] });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.stdin.end(JSON.stringify(given));
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (code !== 0) throw new Error(`Django failed: ${Buffer.concat(err).toString().slice(-2000)}`);
    return JSON.parse(Buffer.concat(out).toString()) as typeof judged;
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the keys are not known to the compiler.
function condition(tree: Tree): any {
  if ("and" in tree) return Q.and(...tree.and.map(condition));
  if ("or" in tree) return Q.or(...tree.or.map(condition));
  if ("not" in tree) return Q.not(condition(tree.not));
  return { [tree.key]: tree.value };
}

async function outcome(run: Pair[0]): Promise<Result> {
  try {
    return { value: plain(await run()) };
  } catch (error) {
    return { error: `${(error as Error).name}: ${(error as Error).message}` };
  }
}

/** The form that judge.py writes: a row is its key, a number in text is a number. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value)) return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if ("pk" in value) return value.pk;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

function same(mine: Result, theirs: Result): boolean {
  return "value" in mine && "value" in theirs && equal(mine.value, plain(theirs.value));
}

function equal(a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a));
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => equal((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]));
}
