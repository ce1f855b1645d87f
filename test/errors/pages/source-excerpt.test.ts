import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sourceExcerpt } from "../../../src/errors/pages/source-excerpt.js";

let root: string;
let outside: string;

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), "stoa-source-"));
  root = join(folder, "app");
  outside = join(folder, "app-secrets.ts");
  mkdirSync(root);
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  writeFileSync(join(root, "a.ts"), lines.join("\r\n"));
  writeFileSync(join(root, ".env"), "SECRET=1");
  writeFileSync(join(root, "wide.js"), "x".repeat(10_000));
  mkdirSync(join(root, "folder.js"));
  writeFileSync(outside, "secret");
  symlinkSync(outside, join(root, "link.ts"));
});

afterAll(() => {
  rmSync(join(root, ".."), { recursive: true });
});

describe("sourceExcerpt", () => {
  it("The excerpt contains the lines around the given one", () => {
    const lines = sourceExcerpt(join(root, "a.ts"), 10, root)!;
    expect(lines.map((line) => line.number)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    expect(lines[6]).toEqual({ number: 10, text: "line 10" });
  });

  it("The excerpt stops at both ends of the file", () => {
    expect(sourceExcerpt(join(root, "a.ts"), 1, root)?.[0]?.number).toBe(1);
    expect(sourceExcerpt(join(root, "a.ts"), 30, root)?.at(-1)?.number).toBe(30);
    expect(sourceExcerpt(join(root, "a.ts"), 31, root)).toBeNull();
    expect(sourceExcerpt(join(root, "a.ts"), 0, root)).toBeNull();
  });

  it("The excerpt cuts long lines", () => {
    expect(sourceExcerpt(join(root, "wide.js"), 1, root)?.[0]?.text.length).toBeLessThan(500);
  });

  it.each([
    ["a file outside the root", () => outside],
    ["a path that leaves the root", () => `${root}/../app-secrets.ts`],
    ["a link that leaves the root", () => join(root, "link.ts")],
    ["a file that is no code", () => join(root, ".env")],
    ["a folder", () => join(root, "folder.js")],
    ["a file that is not there", () => join(root, "none.ts")],
    ["a path with NUL", () => `${root}/a.ts\0.ts`],
    ["something that is no path", () => "<anonymous>"],
  ])("No excerpt is made of %s", (_, file) => {
    expect(sourceExcerpt(file(), 1, root)).toBeNull();
  });
});
