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

/** A page whose code stands in a test of its own, which also checks its results. */
const testedApart = new Set(["orm-queries.md"]);

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
