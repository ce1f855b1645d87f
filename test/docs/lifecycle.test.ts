import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { errorTable } from "../../src/errors/table.js";
import { codeBlocks } from "./code-in-markdown.js";
import { root } from "./pages.js";

/** Statuses that only handlers send. */
const ofHandlers = [406, 411];

it("The picture of a request has every status that the framework sends", async () => {
  const page = await readFile(join(root, "docs/lifecycle.md"), "utf8");
  const picture = codeBlocks(page, "").find((block) => block.startsWith("connection "));
  const shown = new Set([...picture!.matchAll(/\b[2-5]\d\d\b/g)].map(([status]) => Number(status)));
  const sent = new Set(Object.values(errorTable).map(([status]) => status));
  expect([...sent].filter((status) => !shown.has(status))).toEqual(ofHandlers);
});
