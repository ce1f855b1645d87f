import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorTable, problemType } from "../../src/errors/table.js";

describe("docs/errors.md", () => {
  const text = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)];

  it("lists every code of the table, in its order, with status, type and what the client is told", () => {
    const documented = rows.map(([, code, status, type, detail]) => [code, Number(status), type, detail]);
    const table = Object.entries(errorTable).map(([code, [status, detail]]) => [
      code,
      status,
      problemType(code),
      detail,
    ]);
    expect(documented).toEqual(table);
  });

  it("says of each when it occurs", () => {
    for (const [, code, , , , when] of rows) expect(when?.trim(), code).not.toBe("");
  });
});
