import type { RouteDefinition } from "../route/route.js";

/** What only some applications need; null where nothing asks for it. */
export interface OnDemand {
  readonly validation: typeof import("../validation/of-routes.js") | null;
  readonly websocket: typeof import("../websocket/endpoint.js") | null;
  readonly errorPage: typeof import("../error-pages/development-page.js") | null;
}

const schemas = ["params", "query", "headers", "body", "form", "response"] as const;

/** Loads what the routes and the settings ask for, at start: code that is not needed takes time to read all the same. */
export async function loadOnDemand(routes: readonly RouteDefinition[], debug: boolean): Promise<OnDemand> {
  const validates = routes.some(({ options }) => schemas.some((name) => options[name] !== undefined));
  const speaksWebSocket = routes.some(({ websocket }) => websocket);
  const [validation, websocket, errorPage] = await Promise.all([
    validates ? import("../validation/of-routes.js") : null,
    speaksWebSocket ? import("../websocket/endpoint.js") : null,
    debug ? import("../error-pages/development-page.js") : null,
  ]);
  return { validation, websocket, errorPage };
}
