import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../scripts/error-codes.mjs";
import { errorTable, problemType } from "../../src/errors/table.js";

describe("docs/error-codes.md", () => {
  const text = readFileSync(new URL("../../docs/error-codes.md", import.meta.url), "utf8");
  const entries = text.split(/^### /m).slice(1);

  it("The page of codes has each code of the sources once, and no other", () => {
    const documented = entries.map((entry) => /^`([A-Z0-9_]+)`\n/.exec(entry)?.[1]);
    expect(documented.sort()).toEqual([...errorCodes().keys()]);
  });

  it("The page of codes has a cause, an example and a cure for each", () => {
    for (const entry of entries) expect(entry).toMatch(/^.*\n\n- Cause: .+\n- Example: .+\n- Cure: .+\n/);
  });
});

describe("docs/errors.md", () => {
  const text = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)];

  it("The page of errors lists every error code in order, with status, type and the client's message", () => {
    const documented = rows.map(([, code, status, type, detail]) => [code, Number(status), type, detail]);
    const table = Object.entries(errorTable).map(([code, [status, detail]]) => [
      code,
      status,
      problemType(code),
      detail,
    ]);
    expect(documented).toEqual(table);
  });

  it("The page of errors says when each error occurs", () => {
    for (const [, code, , , , when] of rows) expect(when?.trim(), code).not.toBe("");
  });
});
