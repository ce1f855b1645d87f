import type { Host } from "../../../feature/host.js";
import { sendPageFile } from "../../../http/files/page-file.js";
import { pageResponse } from "../../../http/page-response.js";
import type { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import { htmlPage } from "../../../kit/pages/html-page.js";
import { joinPaths } from "../../../routing/pattern.js";

const files = ["graphiql.css", "graphiql.js"];

/** Adds the files of the playground and returns the handler of its page. Nothing is loaded from elsewhere. */
export function playgroundOf(host: Host, path: string): (request: Request) => Response {
  for (const name of files) {
    host.route({
      path: joinPaths(path, `/playground/${name}`),
      handler: (request) => sendPageFile(request, `graphql/assets/${name}`),
    });
  }
  const folder = `${path.slice(path.lastIndexOf("/") + 1)}/playground`;
  return () => page(folder);
}

/**
 * GraphiQL has no layout for narrow screens: its parts are put below each other there, and the documentation takes the
 * place of the editors.
 */
const pageStyle = `body { margin: 0; }
#root { height: 100dvh; }
@media (max-width: 46rem) {
.graphiql-container { flex-direction: column-reverse; }
.graphiql-container .graphiql-sidebar { flex-direction: row; width: auto; padding: 4px 8px; }
.graphiql-container .graphiql-sidebar > button { margin-top: 0 !important; }
.graphiql-container .graphiql-sidebar > button:nth-last-child(3) { margin-left: auto; }
.graphiql-container .graphiql-main { flex-direction: column; min-height: 0; }
.graphiql-container .graphiql-plugin { overflow: auto; flex: 1 1 0% !important; }
.graphiql-container .graphiql-plugin:not([style*="-1000px"]) ~ .graphiql-sessions { display: none; }
.graphiql-container .graphiql-sessions { margin: 0; border-radius: 0; min-height: 0; }
#graphiql-session { flex-direction: column; min-height: 0; }
.graphiql-container .graphiql-editors, .graphiql-container .graphiql-response { min-height: 0; }
.graphiql-container .graphiql-horizontal-drag-bar { display: none; }
}`;

/**
 * A fresh nonce for each response lets the scripts of the page run and no others. The editor writes its own styles
 * into the page, which no nonce can be given to.
 */
function page(folder: string): Response {
  const nonce = nodeCrypto().randomBytes(16).toString("base64");
  const head = `<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/graphiql.css">
<style>${pageStyle}</style>`;
  const body = `<noscript>This page needs JavaScript.</noscript>
<div id="root"></div>
<script src="${folder}/graphiql.js" nonce="${nonce}"></script>`;
  const response = pageResponse(htmlPage("GraphQL", head, body), [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
  ]);
  response.addField("Vary", "Accept");
  return response;
}
