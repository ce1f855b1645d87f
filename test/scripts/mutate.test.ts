import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { applied, mutantsOf, shown } from "../../scripts/mutate/mutants.mjs";
import { relatedTests } from "../../scripts/mutate/related-tests.mjs";
import { random, sample } from "../../scripts/mutate/sample.mjs";
import { mutantsBelow } from "../../scripts/mutate.mjs";

describe("mutants of a source", () => {
  it.each([
    ["comparison", "a === b;", ["a !== b;"]],
    ["comparison", "a !== b;", ["a === b;"]],
    ["boundary", "a < b;", ["a <= b;"]],
    ["boundary", "a >= b;", ["a > b;"]],
    ["logic", "a && b;", ["a || b;"]],
    ["logic", "a || b;", ["a && b;"]],
    ["arithmetic", "a + b;", ["a - b;"]],
    ["arithmetic", "a % b;", ["a * b;"]],
    ["arithmetic", "a += b;", ["a -= b;"]],
    ["arithmetic", "i++;", ["i--;"]],
    ["condition", "if (a) b = c;", ["if (!(a)) b = c;"]],
    ["condition", "b = a ? c : d;", ["b = !(a) ? c : d;"]],
    ["condition", "b = !a;", ["b = a;"]],
    ["early return", "if (a) return b;", [";"]],
    ["removed call", "a(b);", [";"]],
    ["removed call", "await a.b();", [";"]],
    ["await", "b = await a;", ["b = a;"]],
    ["constant", "b = 0;", ["b = 1;"]],
    ["constant", "b = 1;", ["b = 0;"]],
    ["constant", "b = -1;", ["b = 1;"]],
    ["boolean", "b = true;", ["b = false;"]],
    ["text", 'b = "x";', ['b = "";']],
    ["text", 'b = "";', ['b = "mutant";']],
    ["method", "b = a.some(c);", ["b = a.every(c);"]],
    ["method", "b = a.every(c);", ["b = a.some(c);"]],
    ["method", "b = Math.min(c, d);", ["b = Math.max(c, d);"]],
  ])("A mutant changes a %s: %s", (kind, source, changed) => {
    expect(changes(source, kind)).toEqual(changed);
  });

  it("Each mutant makes one of several possible changes", () => {
    expect(changes("if (a < 1 && b) return true;")).toEqual([
      ";",
      "if (!(a < 1 && b)) return true;",
      "if (a <= 1 && b) return true;",
      "if (a < 0 && b) return true;",
      "if (a < 1 || b) return true;",
      "if (a < 1 && b) return false;",
    ]);
  });

  it.each([
    ["imports", 'import a from "a"; export * from "b"; b = import("c");'],
    ["types", 'type A = "a" | 1; interface B { a: true } let c: "x"; declare const d = 1; e = f as "g";'],
    ["comments", "// a === b\n/** `true` */"],
    ["messages of errors", 'throw new TypeError("a"); b = new HttpError(404, "c", { d: "e" });'],
    ["messages of log lines", 'b = logger.warn("a", `b`);'],
    ["joined text", "b = `a` + c + d;"],
    ["names of properties", 'b = { "a": c, 1: d };'],
    ["the call of a base constructor", "class A extends B { constructor() { super(); } }"],
  ])("Mutants leave %s unchanged", (_, source) => {
    expect(mutantsOf(source)).toEqual([]);
  });

  it("A mutant is shown with its line before and after the change", () => {
    const source = "a = b;\nif (c) {\n  d = e > f;\n}\n";
    const mutant = mutantsOf(source).find(({ kind }) => kind === "boundary");
    expect(shown(source, mutant)).toEqual({ line: 3, before: "d = e > f;", changed: "d = e >= f;" });
  });
});

describe("the sample", () => {
  const mutants = ["a", "b", "c"].flatMap((folder, i) =>
    Array.from({ length: 10 ** (i + 1) }, (_, n) => ({ folder, kind: n % 5 === 0 ? "rare" : "common", n })),
  );

  it("The sample is the same for the same seed, and different for another one", () => {
    expect(sample(mutants, { seed: 3, count: 20 })).toEqual(sample(mutants, { seed: 3, count: 20 }));
    expect(sample(mutants, { seed: 4, count: 20 })).not.toEqual(sample(mutants, { seed: 3, count: 20 }));
  });

  it("The sample takes as many from a small folder as from a large one, until the small one is empty", () => {
    const count = (some: { folder: string }[], folder: string) => some.filter((one) => one.folder === folder).length;
    const few = sample(mutants, { seed: 1, count: 12 });
    expect(["a", "b", "c"].map((folder) => count(few, folder))).toEqual([4, 4, 4]);
    const many = sample(mutants, { seed: 1, count: 60 });
    expect(["a", "b", "c"].map((folder) => count(many, folder))).toEqual([10, 25, 25]);
  });

  it("The sample takes as many of a rare kind as of a common one", () => {
    const kinds = sample(mutants, { seed: 1, count: 12 }).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "rare")).toHaveLength(6);
  });

  it("The sample takes no mutant twice, and all if there are fewer than requested", () => {
    expect(new Set(sample(mutants, { seed: 1, count: 5000 })).size).toBe(mutants.length);
    expect(sample([], { seed: 1, count: 5 })).toEqual([]);
  });

  it("The random numbers of the sample are from 0 up to 1", () => {
    const next = random(9);
    const drawn = Array.from({ length: 1000 }, next);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(1);
    expect(drawn.reduce((sum, one) => sum + one) / 1000).toBeCloseTo(0.5, 1);
  });
});

describe("the files", () => {
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "stoa-mutate-"));
    const files = {
      "src/http/json/json.ts": "a = 1;",
      "src/engines/db/pool/pool.ts": "a = 1;",
      "src/engines/db/values/read.ts": "a = 1;",
      "test/http/json.test.ts": "",
      "test/http/query.test.ts": 'import { json } from "../../src/http/json/json.js";',
      "test/http/headers.test.ts": "",
      "test/http/package.test.ts": 'import { ensureBuilt } from "../../scripts/setup.mjs";',
      "test/engines/db/pool.test.ts": "",
      "test/engines/db/values/bytes.test.ts": "",
      "test/engines/kv/store.test.ts": "",
      "test/conformance/core.test.ts": "",
      "test/cli/main.test.ts": "",
    };
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), text);
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it("Only files of the given folders have mutants, which name the folder as it was given", () => {
    expect(mutantsBelow(root).map(({ path, folder }) => [path, folder])).toEqual([
      ["src/engines/db/pool/pool.ts", "engines"],
      ["src/engines/db/values/read.ts", "engines"],
      ["src/http/json/json.ts", "http"],
    ]);
    expect(mutantsBelow(root, ["engines/db/values"]).map(({ path, folder }) => [path, folder])).toEqual([
      ["src/engines/db/values/read.ts", "engines/db/values"],
    ]);
  });

  it("The related tests of a source come nearest first, each once", () => {
    expect(relatedTests(root)("src/http/json/json.ts")).toEqual([
      ["test/http/json.test.ts", "test/http/query.test.ts"],
      ["test/http/headers.test.ts"],
      ["test/conformance/core.test.ts"],
    ]);
    expect(relatedTests(root)("src/engines/db/values/read.ts")).toEqual([
      ["test/engines/db/values/bytes.test.ts"],
      ["test/engines/db/pool.test.ts"],
    ]);
    expect(relatedTests(root)("src/engines/db/values/deep/time.ts")[0]).toEqual([
      "test/engines/db/values/bytes.test.ts",
    ]);
    expect(relatedTests(root)("src/engines/db/sql/parse.ts")).toEqual([["test/engines/db/pool.test.ts"]]);
  });
});

/** Each changed source, of one kind or of all. */
function changes(source: string, kind?: string): string[] {
  return mutantsOf(source)
    .filter((mutant) => kind === undefined || mutant.kind === kind)
    .map((mutant) => applied(source, mutant));
}
