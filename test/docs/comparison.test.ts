import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const rootOf = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const rows = [...readFileSync(rootOf("docs/comparison.md"), "utf8").matchAll(/\| `(test\/[^`]+)`: (.*) \|$/gm)];

it("Each row of the comparison names a test that exists", () => {
  expect(rows.length).toBeGreaterThan(20);
  const missing = rows.filter(([, path, name]) => {
    const text = readFileSync(rootOf(path!), "utf8");
    return ![...text.matchAll(/["`]([^"`\n]*)["`]/g)].some(([, given]) => given!.includes(name!));
  });
  expect(missing.map(([row]) => row)).toEqual([]);
});
