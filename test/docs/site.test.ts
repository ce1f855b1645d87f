import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contents, llmsFullText, llmsText } from "../../scripts/llms.mjs";
import { runNode } from "../../scripts/process.mjs";
import { isLong } from "../support/long.js";
import { root } from "./pages.js";

const pages = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md") && name !== "README.md").sort();

describe("the documentation as a site", () => {
  it("The list of pages names every page once", () => {
    const listed = contents().flatMap((section) => section.pages.map(({ file }) => file));
    expect(listed.sort()).toEqual(pages);
  });

  it("The texts for assistants link to every page, and contain every page", async () => {
    const list = llmsText((file: string) => `docs/${file}`);
    const full = llmsFullText();
    for (const page of pages) {
      expect(list).toContain(`](docs/${page}): `);
      expect(full).toContain(await readFile(join(root, "docs", page), "utf8"));
    }
  });

  it.runIf(isLong)("The site is built, with a file for every page", { timeout: 600_000 }, async () => {
    const { code, output } = await runNode(join(root, "scripts/site.mjs"), []);
    expect(code, output).toBe(0);
    const missing = pages.filter((page) => !existsSync(join(root, "site/dist", page.replace(/md$/, "html"))));
    expect(missing).toEqual([]);
    expect(await readFile(join(root, "site/dist/guide.html"), "utf8")).not.toContain("&lt;!--");
    expect(await readFile(join(root, "site/dist/reference/stoa.html"), "utf8")).toContain("App.get");
    expect(await readFile(join(root, "site/dist/llms.txt"), "utf8")).toContain("](guide.html)");
  });
});
