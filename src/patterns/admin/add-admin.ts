import { checkHost, checkOrigin, checkSite } from "../../batteries/live/visitor.js";
import { ForbiddenError, HttpError } from "../../errors/http-error.js";
import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { ValueError } from "../../internal/value-error.js";
import { joinPaths } from "../../routing/pattern.js";
import { isStorable } from "../storage/texts.js";
import type { AdminSettings } from "./options.js";
import { type AdminKind, adminPage } from "./page.js";

/** The filter of a list, as the query gives it. */
export interface AdminFilter {
  readonly status: string | undefined;
  readonly name: string | undefined;
  /** The value of `next` in the page before. */
  readonly before: string | undefined;
  readonly limit: number;
}

/** The work that the pages show. */
export interface AdminSource {
  readonly kind: AdminKind;
  readonly enabledBy: string;
  list(filter: AdminFilter): Promise<{ readonly items: readonly unknown[]; readonly next: string | null }>;
  /** Null if there is none with this id. */
  detail(id: string): Promise<object | null>;
  /** The actions by name. A `ValueError` is shown to the operator. */
  readonly actions: Readonly<Record<string, (id: string) => Promise<unknown>>>;
}

const pageLimit = 50;
const longestBody = 10_000;

/** Adds the pages and calls for operators. They are never open: outside of development they need a guard. */
export function addAdmin(host: Host, { path, guards }: AdminSettings, source: AdminSource): void {
  if (guards.length === 0 && host.env !== "development") {
    throw new ValueError(
      `${source.enabledBy}({ admin: ... }) needs guards outside of development: admin: { guards: [new Role("admin")] }`,
    );
  }
  const page = adminPage(source.kind);
  host.link(source.kind === "sagas" ? "Sagas" : "Jobs", path);
  const add = (sub: string, method: "GET" | "POST", handler: (request: Request) => unknown): void =>
    host.route({
      path: sub === "" ? path : joinPaths(path, sub),
      method,
      options: { guards, etag: false, compression: false, ...(method === "POST" && { bodyLimit: longestBody }) },
      async handler(request) {
        if (guards.length === 0) checkLocal(request);
        checkOrigin(request);
        if (sub !== "") checkSite(request);
        const response = await handler(request);
        if (!(response instanceof Response)) return noStore(Response.json(response));
        return response;
      },
    });
  add("", "GET", async () => {
    const { html, contentSecurityPolicy } = await page;
    const response = noStore(Response.html(html));
    response.addField("Content-Security-Policy", contentSecurityPolicy);
    response.addField("Referrer-Policy", "no-referrer");
    return response;
  });
  add("/list", "GET", ({ query }) =>
    explained(() =>
      source.list({
        status: storable(query.get("status")) || undefined,
        name: storable(query.get("name")) || undefined,
        before: storable(query.get("before")) || undefined,
        limit: pageLimit,
      }),
    ),
  );
  add("/detail", "GET", async ({ query }) => {
    const found = await source.detail(storable(query.get("id")) ?? "");
    if (found === null) throw new HttpError(404, `There is no ${source.kind.slice(0, -1)} with this id.`);
    return found;
  });
  add("/act", "POST", async (request) => {
    // A form of another site cannot send JSON.
    if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
      throw new HttpError(400, "The body must be JSON.");
    }
    const { id, action } = ((await request.json()) ?? {}) as { id?: unknown; action?: unknown };
    if (typeof id !== "string" || typeof action !== "string" || !Object.hasOwn(source.actions, action)) {
      throw new HttpError(400, `The body must have an id and an action: ${Object.keys(source.actions).join(", ")}.`);
    }
    storable(id);
    host.logger.info(`an operator asked for ${action}`, { [source.kind.slice(0, -1)]: id });
    await explained(() => source.actions[action]!(id));
    return { done: true };
  });
}

/** The database would refuse such a text with an error, and nothing can have it as an id or a name. */
function storable(text: string | undefined): string | undefined {
  if (text !== undefined && !isStorable(text)) {
    throw new HttpError(400, "A text contains U+0000 or half of a surrogate pair.");
  }
  return text;
}

/** A mistake of the operator is 400, not 500. */
async function explained<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ValueError) throw new HttpError(400, error.message);
    throw error;
  }
}

function checkLocal(request: Request): void {
  try {
    checkHost(request, []);
  } catch {
    throw new ForbiddenError("Without guards this page is for the machine that it runs on.");
  }
}

function noStore(response: Response): Response {
  response.addField("Cache-Control", "no-store");
  response.addField("X-Content-Type-Options", "nosniff");
  return response;
}
