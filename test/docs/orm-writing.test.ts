import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { codeBlocks, withoutSpace } from "./code-in-markdown.js";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const checked = withoutSpace(read("./orm-writing.ts"));

it.each(codeBlocks(read("../../docs/orm-writing.md"), "ts"))("The compiler checks the code of the page: %s", (code) => {
  expect(checked).toContain(withoutSpace(code));
});
