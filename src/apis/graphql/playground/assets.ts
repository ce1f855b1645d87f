import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { missingFile, publishedFiles, readOnce } from "../../../kit/pages/page-files.js";

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

const copies = publishedFiles("graphql/assets");

/** A file of the page: the copy that is published with this package; when run from its sources, the package itself. */
export const loadPlaygroundAsset = readOnce(async (name: PlaygroundFile): Promise<PlaygroundAsset> => {
  const [member, type] = files[name];
  const published = await copies().catch(() => null);
  const body = published?.[name] ?? (await fromPackage(member));
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
