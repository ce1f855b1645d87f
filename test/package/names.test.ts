import { describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";

const entries = ["index", "testing/index", "orm/index", "migrations/index"];

describe("the built package", () => {
  it("The built package exports the same names as the sources, also in errors and logs", async () => {
    await ensureBuilt(() => {});
    for (const entry of entries) {
      const source = (await import(/* @vite-ignore */ `../../src/${entry}.ts`)) as Record<string, unknown>;
      const built = (await import(/* @vite-ignore */ `../../dist/${entry}.js`)) as Record<string, unknown>;
      expect(names(built), entry).toEqual(names(source));
    }
  }, 120_000);
});

function names(module: Record<string, unknown>): Record<string, string> {
  const all = Object.entries(module).map(([key, value]) => [key, typeof value === "function" ? value.name : ""]);
  return Object.fromEntries(all.sort());
}
