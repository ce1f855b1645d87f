import { describe, expect, it } from "vitest";
import { packageEntries } from "../../scripts/bundle.mjs";
import { ensureBuilt } from "../../scripts/setup.mjs";

const entries = Object.keys(packageEntries()).filter((name) => name.startsWith("entry/"));

describe("the built package", () => {
  it("The built package exports the same names as the sources, also in errors and logs", async () => {
    await ensureBuilt({ log: () => {} });
    for (const entry of entries) {
      const source = (await import(/* @vite-ignore */ `../../src/${entry}.ts`)) as Record<string, unknown>;
      const built = (await import(/* @vite-ignore */ `../../dist/${entry}.js`)) as Record<string, unknown>;
      expect(names(built), entry).toEqual(names(source));
    }
  });
});

/** The exported names, with those of classes as errors and logs show them. The bundler may rename a plain function. */
function names(module: Record<string, unknown>): Record<string, string> {
  const isClass = (value: unknown): value is { name: string } => /^class\b/.test(String(value));
  const all = Object.entries(module).map(([key, value]) => [key, isClass(value) ? value.name : ""]);
  return Object.fromEntries(all.sort());
}
