/**
 * The documentation for assistants that write code: `llms.txt` lists the pages, and `llms-full.txt` has
 * them all in one file. Both are on the site and in the package. The order and the sentence of each page are those of docs/README.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./process.mjs";

/** The sections of docs/README.md with their pages: `[{ title, pages: [{ title, file, about }] }]`. */
export function contents() {
  const text = readFileSync(join(root, "docs/README.md"), "utf8");
  const sections = text.split(/^## /m).slice(1);
  return sections.map((section) => ({
    title: section.slice(0, section.indexOf("\n")),
    pages: [...section.matchAll(/^\| \[([^\]]+)\]\(([\w-]+\.md)\) \| (.+) \|$/gm)].map(([, title, file, about]) => ({
      title,
      file,
      about,
    })),
  }));
}

/** The list of all pages; `link` gives the address of one. */
export function llmsText(link) {
  const lines = contents().flatMap(({ title, pages }) => [
    `## ${title}`,
    "",
    ...pages.map((page) => `- [${page.title}](${link(page.file)}): ${page.about}`),
    "",
  ]);
  return [head(), ...lines].join("\n");
}

/** All pages. */
export function llmsFullText() {
  const files = contents().flatMap(({ pages }) => pages.map(({ file }) => file));
  const texts = files.map((file) => readFileSync(join(root, "docs", file), "utf8").trim());
  return `${[head().trim(), ...texts].join("\n\n")}\n`;
}

/** Writes the files that the package has. */
export function writeLlms() {
  writeFileSync(
    join(root, "llms.txt"),
    llmsText((file) => `docs/${file}`),
  );
  writeFileSync(join(root, "llms-full.txt"), llmsFullText());
}

/** The title and the first paragraph of the README, without its links. */
function head() {
  const [, paragraph] = readFileSync(join(root, "README.md"), "utf8").split("\n\n");
  const text = paragraph.replaceAll("\n", " ").replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
  return `# Stoa\n\n> ${text}\n`;
}

if (process.argv[1] === import.meta.filename) writeLlms();
