import type { RouteDefinition } from "../routing/definition.js";

/** Code that only some applications need; null where nothing needs it. */
export interface OnDemand {
  readonly validation: typeof import("../validation/validate.js") | null;
  readonly responses: typeof import("../validation/response.js") | null;
  readonly websocket: typeof import("../websocket/endpoint.js") | null;
  readonly errorPage: typeof import("../errors/pages/development-page.js") | null;
}

const inputs = ["params", "query", "headers", "body", "form"] as const;

/** Loads the code that routes and settings need, at start: unused code would take time to load too. */
export async function loadOnDemand(routes: readonly RouteDefinition[], debug: boolean): Promise<OnDemand> {
  const validates = routes.some(({ options }) => inputs.some((name) => options[name] !== undefined));
  const responds = routes.some(({ options }) => options.response !== undefined);
  const speaksWebSocket = routes.some(({ websocket }) => websocket);
  const [validation, responses, websocket, errorPage] = await Promise.all([
    validates ? import("../validation/validate.js") : null,
    responds ? import("../validation/response.js") : null,
    speaksWebSocket ? import("../websocket/endpoint.js") : null,
    debug ? import("../errors/pages/development-page.js") : null,
  ]);
  return { validation, responses, websocket, errorPage };
}
