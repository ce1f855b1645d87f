import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { modulesOfPage, type PageModule } from "./modules-of-page.js";

export const root = join(import.meta.dirname, "../..");

export interface Page {
  /** Path in the project. */
  path: string;
  text: string;
  modules: PageModule[];
}

/** Pages with a test of their own, which also checks the results of their code. */
const testedApart = new Set(["client.md", "orm-queries.md", "tutorial.md"]);

/** All other pages that users read. */
export async function readPages(): Promise<Page[]> {
  const names = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md") && !testedApart.has(name));
  const paths = ["README.md", ...names.sort().map((name) => `docs/${name}`)];
  return Promise.all(
    paths.map(async (path) => {
      const text = await readFile(join(root, path), "utf8");
      return { path, text, modules: modulesOfPage(text) };
    }),
  );
}
