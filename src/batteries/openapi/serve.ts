import { httpError } from "../../errors/http-error.js";
import { evaluateConditions } from "../../http/fields/conditional.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { type AssetName, loadAsset } from "./assets.js";
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
  let tagged: Tagged | undefined;
  return { path, handler: async (request) => send(request, (tagged ??= withTag(await text(), type))) };
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
      handler: async (request: Request) => send(request, await taggedAsset(name)),
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

interface Tagged {
  readonly body: string;
  readonly type: string;
  readonly etag: string;
}

const assets = new Map<AssetName, Tagged>();

async function taggedAsset(name: AssetName): Promise<Tagged> {
  const asset = await loadAsset(name);
  let tagged = assets.get(name);
  if (!tagged) assets.set(name, (tagged = withTag(asset.body, asset.type)));
  return tagged;
}

function withTag(body: string, type: string): Tagged {
  return { body, type, etag: `"${nodeCrypto().createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` };
}

/** The client caches it and revalidates it each time: it may change with the next start of the server. */
function send(request: Request, { body, type, etag }: Tagged): Response {
  const verdict = evaluateConditions(request.method, (name) => request.source.header(name), {
    etag,
    lastModified: undefined,
  });
  if (verdict === "failed") throw httpError("PRECONDITION_FAILED");
  const response = verdict === "unchanged" ? new Response(null, 304) : new Response(body, 200, type);
  response.addField("ETag", etag);
  response.addField("Cache-Control", "no-cache");
  response.addField("X-Content-Type-Options", "nosniff");
  return response;
}
