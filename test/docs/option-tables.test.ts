import { describe, expect, it } from "vitest";
import { optionTables } from "../../scripts/option-tables.mjs";

describe("tables of options in the docs", () => {
  const pages = optionTables();

  it("The tables have the names and defaults of the declarations; node scripts/option-tables.mjs writes them", () => {
    for (const { path, text, expected } of pages) expect([path, text]).toEqual([path, expected]);
  });

  it("The tables of the declared options are marked", () => {
    expect(pages.reduce((sum, { tables }) => sum + tables, 0)).toBeGreaterThan(15);
  });
});
