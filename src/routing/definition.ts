import type { Guard } from "../guards/guard.js";
import type { Middleware } from "../pipeline/middleware.js";
import type { ReadRouteOptions } from "./options.js";
import type { Place } from "./places.js";

/** A handler registered for methods and a path, as the application keeps it. */
export interface RouteDefinition {
  readonly methods: readonly string[];
  readonly path: string;
  readonly websocket: boolean;
  readonly options: ReadRouteOptions;
  readonly handler: (...args: never[]) => unknown;
  /** The blueprints around the route, outermost first. */
  readonly scopes: readonly Scope[];
  /**
   * True for a route of operators: neither the application's middleware and guards nor anything that refuses users
   * (limits, sessions and the like) applies to it.
   */
  readonly internal?: boolean;
  /** True for work inside of another request, which has passed the application's middleware and guards: only its own guards apply. */
  readonly inner?: boolean;
  /** The place in the source where it was registered; none for routes of the framework. */
  readonly place?: Place;
}

/** Everything that a blueprint adds to its routes. Read when the application starts. */
export interface Scope {
  /** Options of its routes; a route's own option goes before them. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly middleware: readonly Middleware[];
  readonly guards: readonly Guard[];
  readonly tags: readonly string[];
}

/** The options of a route together with those it inherits from its blueprints. */
export function settingsOf(route: RouteDefinition): RouteDefinition["options"] {
  return Object.assign({}, ...route.scopes.map((scope) => scope.options), route.options);
}
