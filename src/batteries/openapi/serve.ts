import { sendPageFile, sendTagged, tagOf } from "../../http/files/page-file.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { OpenapiSettings } from "./options.js";
import { documentationPage, type Interface, redoc, swaggerUi } from "./page.js";

/** A path of the documentation and its handler. */
export interface DocumentationRoute {
  readonly path: string;
  readonly handler: (request: Request) => Response | Promise<Response>;
}

/** The title and the path of a page. */
export type DocumentationLink = readonly [title: string, path: string];

/** The document, the two user interfaces, and their files below them. `text` is asked for when it is first needed. */
export function documentationRoutes(
  settings: OpenapiSettings,
  further: readonly DocumentationLink[],
  text: () => Promise<string>,
): DocumentationRoute[] {
  const { openapiPath, docsPath, redocPath } = settings;
  return [
    taggedRoute(openapiPath, "application/json", text),
    ...(docsPath === false ? [] : interfaceRoutes(swaggerUi, docsPath, settings, further)),
    ...(redocPath === false ? [] : interfaceRoutes(redoc, redocPath, settings, further)),
  ];
}

/** A path with a text that is made when it is first asked for. Clients revalidate it with its ETag. */
export function taggedRoute(path: string, type: string, text: () => Promise<string>): DocumentationRoute {
  let made: { readonly body: string; readonly etag: string } | undefined;
  return {
    path,
    handler: async (request) => {
      if (made === undefined) {
        const body = await text();
        made = { body, etag: `"${tagOf(body)}"` };
      }
      const { body, etag } = made;
      return sendTagged(request, etag, () => new Response(body, 200, type));
    },
  };
}

function interfaceRoutes(
  ui: Interface,
  path: string,
  settings: OpenapiSettings,
  further: readonly DocumentationLink[],
): DocumentationRoute[] {
  const { title, openapiPath, docsPath, redocPath } = settings;
  const pages: (readonly [string, string | false])[] = [
    ["Try it", docsPath],
    ["Reference", redocPath],
    ...further,
    ["OpenAPI document", openapiPath],
  ];
  const others = pages.filter((page): page is DocumentationLink => page[1] !== false && page[1] !== path);
  const parts = { title, path, openapiPath, others, origins: originsOf(settings) };
  return [
    { path, handler: () => documentationPage(ui, parts) },
    taggedRoute(`${path}/start.js`, "text/javascript; charset=utf-8", async () => ui.start),
    ...[...ui.styles, ...ui.scripts].map((name) => ({
      path: `${path}/${name}`,
      handler: (request: Request) => sendPageFile(request, `openapi/assets/${name}`),
    })),
  ];
}

/** The other servers that a user may try the API on. */
function originsOf({ servers }: OpenapiSettings): string[] {
  const urls = servers.map((server) => (typeof server === "string" ? server : server.url));
  return [
    ...new Set(urls.filter((url) => /^https?:\/\//i.test(url) && URL.canParse(url)).map((url) => new URL(url).origin)),
  ];
}
