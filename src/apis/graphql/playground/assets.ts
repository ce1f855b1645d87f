import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder } from "../../../internal/package-folder.js";
import { missingFile, readOnce } from "../../../internal/page-files.js";

/** The files of the page, each with the export of the package GraphiQL comes from, and its content type. */
const files = {
  "graphiql.css": ["css", "text/css; charset=utf-8"],
  "graphiql.js": ["js", "text/javascript; charset=utf-8"],
  "editor.worker.js": ["editorWorkerService", "text/javascript; charset=utf-8"],
  "json.worker.js": ["jsonWorker", "text/javascript; charset=utf-8"],
  "graphql.worker.js": ["graphqlWorker", "text/javascript; charset=utf-8"],
} as const;

export type PlaygroundFile = keyof typeof files;

export const playgroundFiles = Object.keys(files) as PlaygroundFile[];

export interface PlaygroundAsset {
  readonly body: string;
  readonly type: string;
}

/** A file of the page: the copy that is published with this package; when run from its sources, the package itself. */
export const loadPlaygroundAsset = readOnce(async (name: PlaygroundFile): Promise<PlaygroundAsset> => {
  const [member, type] = files[name];
  const copy = join(packageFolder(), "dist", "graphql", "assets", name);
  const body = await readFile(copy, "utf8").catch(() => fromPackage(member));
  return { body, type };

  async function fromPackage(member: string): Promise<string> {
    try {
      const main = createRequire(import.meta.url).resolve("@graphql-yoga/render-graphiql");
      const module = pathToFileURL(join(dirname(dirname(main)), "esm", "graphiql.js")).href;
      return ((await import(module)) as Record<string, string>)[member]!;
    } catch (error) {
      throw missingFile(name, error);
    }
  }
});
