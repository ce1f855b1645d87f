import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Host } from "../../../feature/host.js";
import type { Request } from "../../../http/request.js";
import { Response } from "../../../http/response.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import { missingFile, publishedFiles, readOnce } from "../../../kit/pages/page-files.js";
import { joinPaths } from "../../../routing/pattern.js";

/** Starts the page. Addresses are relative to it, so that it works behind a proxy that adds a prefix. */
const start = `const { folder } = document.currentScript.dataset;
const workers = { editorWorkerService: "editor", json: "json", graphql: "graphql" };
self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_, label) => new URL(folder + "/" + workers[label] + ".worker.js", location.href).href,
};
document.currentScript.insertAdjacentElement("beforebegin", document.createElement("div")).id = "root";
YogaGraphiQL.renderYogaGraphiQL(document.getElementById("root"), {
  endpoint: location.pathname,
  subscriptionsProtocol: "WS",
  title: "GraphQL",
});
`;

/** Adds the files of the playground and returns the handler of its page. Nothing is loaded from elsewhere. */
export function playgroundOf(host: Host, path: string): (request: Request) => Response {
  const add = (name: string, asset: () => Promise<PlaygroundAsset>): void =>
    host.route({
      path: joinPaths(path, `/playground/${name}`),
      handler: async () => {
        const { body, type } = await asset();
        const response = new Response(body, 200, type);
        response.addField("Cache-Control", "no-cache");
        response.addField("X-Content-Type-Options", "nosniff");
        return response;
      },
    });
  for (const name of playgroundFiles) add(name, () => loadPlaygroundAsset(name));
  add("start.js", async () => ({ body: start, type: "text/javascript; charset=utf-8" }));
  const folder = `${path.slice(path.lastIndexOf("/") + 1)}/playground`;
  return () => page(folder);
}

/**
 * GraphiQL has no layout for narrow screens: its parts are put below each other there, and the documentation takes the
 * place of the editors.
 */
const narrowStyle = `@media (max-width: 46rem) {
.graphiql-container .graphiql-container { flex-direction: column-reverse; }
.graphiql-container .graphiql-sidebar { flex-direction: row; width: auto; padding: 4px 8px; }
.graphiql-container .graphiql-sidebar > button { margin-top: 0 !important; }
.graphiql-container .graphiql-sidebar > button:nth-last-child(3) { margin-left: auto; }
.graphiql-container .graphiql-main { flex-direction: column; min-height: 0; }
.graphiql-container .graphiql-plugin { overflow: auto; flex: 1 1 0% !important; }
.graphiql-container .graphiql-plugin:not([style*="-1000px"]) ~ .graphiql-sessions { display: none; }
.graphiql-container .graphiql-sessions { margin: 0; border-radius: 0; min-height: 0; }
.graphiql-container .graphiql-session-header + div { flex-direction: column; min-height: 0; }
.graphiql-container .graphiql-editors, .graphiql-container .graphiql-response { min-height: 0; }
.graphiql-container .graphiql-horizontal-drag-bar { display: none; }
.graphiql-container .graphiql-logo span { display: none; }
}`;

/**
 * A fresh nonce for each response lets the scripts of the page run and no others. The editor writes styles of its own
 * into the page, which no nonce can be given to.
 */
function page(folder: string): Response {
  const nonce = nodeCrypto().randomBytes(16).toString("base64");
  const response = Response.html(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/graphiql.css">
<style>${narrowStyle}</style>
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
<script src="${folder}/graphiql.js" nonce="${nonce}"></script>
<script src="${folder}/start.js" nonce="${nonce}" data-folder="${folder}"></script>
</body>
</html>
`);
  response.addField(
    "Content-Security-Policy",
    [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self' data:",
      "connect-src 'self'",
      "worker-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
  );
  response.addField("X-Content-Type-Options", "nosniff");
  response.addField("Referrer-Policy", "no-referrer");
  response.addField("Cache-Control", "no-store");
  response.addField("Vary", "Accept");
  return response;
}

/** The files of the page, each with the export of the package GraphiQL comes from, and its content type. */
const files = {
  "graphiql.css": ["css", "text/css; charset=utf-8"],
  "graphiql.js": ["js", "text/javascript; charset=utf-8"],
  "editor.worker.js": ["editorWorkerService", "text/javascript; charset=utf-8"],
  "json.worker.js": ["jsonWorker", "text/javascript; charset=utf-8"],
  "graphql.worker.js": ["graphqlWorker", "text/javascript; charset=utf-8"],
} as const;

type PlaygroundFile = keyof typeof files;

const playgroundFiles = Object.keys(files) as PlaygroundFile[];

interface PlaygroundAsset {
  readonly body: string;
  readonly type: string;
}

const copies = publishedFiles("graphql/assets");

/** A file of the page: the copy that is published with this package; when run from its sources, the package itself. */
const loadPlaygroundAsset = readOnce(async (name: PlaygroundFile): Promise<PlaygroundAsset> => {
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
