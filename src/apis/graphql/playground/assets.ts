import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder } from "../../../internal/package-folder.js";

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

const loaded = new Map<PlaygroundFile, Promise<PlaygroundAsset>>();

/** A file of the page; read once, when first asked for. */
export function loadPlaygroundAsset(name: PlaygroundFile): Promise<PlaygroundAsset> {
  let asset = loaded.get(name);
  if (!asset) {
    asset = read(name);
    loaded.set(name, asset);
    asset.catch(() => loaded.delete(name));
  }
  return asset;
}

/** The copy that is published with this package; when run from its sources, the package itself. */
async function read(name: PlaygroundFile): Promise<PlaygroundAsset> {
  const [member, type] = files[name];
  try {
    return { body: await readFile(join(packageFolder(), "dist", "graphql", "assets", name), "utf8"), type };
  } catch {
    const main = createRequire(import.meta.url).resolve("@graphql-yoga/render-graphiql");
    const module = pathToFileURL(join(dirname(dirname(main)), "esm", "graphiql.js")).href;
    return { body: ((await import(module)) as Record<string, string>)[member]!, type };
  }
}
