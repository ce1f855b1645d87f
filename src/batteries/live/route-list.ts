import { guardName } from "../../guards/guard.js";
import type { RouteDefinition, Scope } from "../../routing/definition.js";

/** A route, as far as the page shows it. */
export interface ListedRoute {
  readonly methods: readonly string[];
  readonly path: string;
  readonly summary: string | null;
  readonly tags: readonly string[];
  /** Names of the guards before it. */
  readonly guards: readonly string[];
  readonly websocket: boolean;
  readonly deprecated: boolean;
  /** One of the framework's own. */
  readonly internal: boolean;
}

type Labels = Pick<Scope, "guards" | "tags">;

/** All routes by path. The framework's own stand at the end. */
export function listRoutes(routes: readonly RouteDefinition[], app: Labels): ListedRoute[] {
  return routes.map((route) => listRoute(route, app)).sort(byPath);
}

export function listRoute(
  { methods, path, websocket, options, scopes, internal = false }: RouteDefinition,
  app: Labels,
): ListedRoute {
  const own: Labels = { guards: list(options["guards"]), tags: list(options["tags"]) };
  const all = internal ? [own] : [app, ...scopes, own];
  return {
    methods: websocket ? ["WS"] : methods,
    path,
    summary: typeof options["summary"] === "string" ? options["summary"] : null,
    tags: [...new Set(all.flatMap((scope) => scope.tags))],
    guards: all.flatMap((scope) => scope.guards).map(guardName),
    websocket,
    deprecated: options["deprecated"] === true,
    internal: internal || options["hidden"] === true,
  };
}

export function byPath(a: ListedRoute, b: ListedRoute): number {
  if (a.internal !== b.internal) return a.internal ? 1 : -1;
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

function list<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value : [];
}
