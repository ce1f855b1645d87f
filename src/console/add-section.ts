import { HttpError } from "../errors/http-error.js";
import { type Host, perHost } from "../feature/host.js";
import type { Request } from "../http/request.js";
import { Response } from "../http/response.js";
import { isStorable } from "../kit/storable.js";
import { ValueError } from "../kit/value-error.js";
import { joinPaths } from "../routing/pattern.js";
import type { ConsoleSection } from "./section.js";
import { checkSite, checkVisitor } from "./visitor.js";

const longestBody = 10_000;
const sectionsOf = perHost((): ConsoleSection[] => []);
/** The paths of the pages and of their calls. An open page calls again and again, which is no work of the application. */
export const consolePaths = perHost(() => new Set<string>());

/** Adds a page to the console, in `prepare`. */
export function consoleSection(host: Host, section: ConsoleSection): void {
  const { title, path, guards = [], hosts, view, actions, calls = {} } = section;
  if (guards.length === 0 && host.env !== "development") {
    const owner = section.enabledBy ?? `the page ${title}`;
    throw new ValueError(`${owner} needs guards outside of development: guards: [new Role("admin")]`);
  }
  const sections = sectionsOf(host);
  if (section.overview === undefined) sections.push(section);
  else sections.unshift(section);
  host.link(title, path);
  const add = (call: string, method: "GET" | "POST", handler: (request: Request) => unknown): void => {
    const address = call === "" ? path : joinPaths(path, `/${call}`);
    consolePaths(host).add(address);
    host.route({
      path: address,
      method,
      // Guards do not run for an internal route.
      internal: hosts !== undefined && guards.length === 0,
      options: { guards, etag: false, compression: false, ...(method === "POST" && { bodyLimit: longestBody }) },
      async handler(request) {
        checkVisitor(request, section);
        if (call !== "") checkSite(request);
        for (const [, text] of request.query) checkText(text);
        const result = await explained(handler, request);
        if (result instanceof Response) return result;
        const response = Response.json(result);
        response.addField("Cache-Control", "no-store");
        response.addField("X-Content-Type-Options", "nosniff");
        return response;
      },
    });
  };
  add("", "GET", async () => (await import("./page.js")).consolePage(section, sections));
  for (const [name, call] of Object.entries(calls)) add(name, "GET", call);
  if (view) add("view", "GET", ({ query }) => view(query));
  if (actions) add("act", "POST", (request) => act(host, title, actions, request));
}

async function act(host: Host, page: string, actions: NonNullable<ConsoleSection["actions"]>, request: Request) {
  // A form of another site cannot send JSON.
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
    throw new HttpError(400, "The body must be JSON.");
  }
  const { id, action } = ((await request.json()) ?? {}) as { id?: unknown; action?: unknown };
  if (typeof id !== "string" || typeof action !== "string" || !Object.hasOwn(actions, action)) {
    throw new HttpError(400, `The body must have an id and an action: ${Object.keys(actions).join(", ")}.`);
  }
  checkText(id);
  host.logger.info(`an operator asked for ${action}`, { page, id });
  await actions[action]!(id);
  return { done: true };
}

/** The database would refuse such a text with an error, and nothing can have it as an id or a name. */
function checkText(text: string): void {
  if (!isStorable(text)) throw new HttpError(400, "A text contains U+0000 or half of a surrogate pair.");
}

/** A mistake of the operator is 400, not 500. */
async function explained(handler: (request: Request) => unknown, request: Request): Promise<unknown> {
  try {
    return await handler(request);
  } catch (error) {
    if (error instanceof ValueError) throw new HttpError(400, error.message);
    throw error;
  }
}
