import type { Hook } from "../app/lifecycle.js";
import type { Request } from "../http/request.js";
import type { Logger } from "../internal/logger.js";
import { snakeCase } from "../internal/names.js";
import type { Middleware, RouteInfo } from "../pipeline/middleware.js";
import type { RouteDefinition, Scope } from "../route/route.js";
import type { RunSettings } from "../server/run-target.js";

/**
 * What a feature may ask of the application. A feature is an interface of methods and an object that implements them, in
 * a file of its own in features/; `App` has the methods of all features, in both spellings.
 */
export interface FeatureHost {
  readonly logger: Logger;
  readonly debug: boolean;
  readonly env: "development" | "production";
  readonly phase: "new" | "starting" | "started" | "draining" | "stopped";
  readonly settings: RunSettings;
  /** Bytes a body may have. */
  bodyLimit: number;
  /** Works out the client's address. */
  addressOf: (request: Request) => string;
  /** Works out scheme and host where proxies are trusted. */
  originOf: ((request: Request) => string) | null;
  /** What features keep for themselves and each other, by a key of their own. */
  readonly slots: Map<unknown, unknown>;
  /** What the application adds to all its routes. */
  readonly scope: Scope;
  /** All middleware of the application so far: what features added, and what the application uses. */
  readonly middleware: readonly Middleware[];
  /** All routes registered so far, those of blueprints included. */
  readonly routes: readonly RouteDefinition[];
  /** Throws when the application has been started. */
  assertOpen(call: string): void;
  /** Adds middleware at its slot. */
  addFeature(middleware: Middleware): void;
  /** Adds a route of the framework's own. */
  accept(route: RouteDefinition): void;
  /** A page to show when the server listens. */
  addLink(label: string, path: string): void;
  /** Runs at start before anything is compiled: routes and middleware may still be added. */
  onPrepare(hook: Hook): void;
  /** Runs before the first startup hook: engines connect here. */
  beforeStartup(hook: Hook): void;
  /** Runs after the last shutdown hook, in reverse: engines close here. */
  afterShutdown(hook: Hook): void;
}

/** The methods of a feature; `this` is the application. */
export type FeatureMethods<Feature> = { [K in keyof Feature]: Feature[K] } & ThisType<FeatureHost & Feature>;

/** Gives a prototype the methods of features, each under both its spellings. */
export function addFeatures(prototype: object, features: readonly object[]): void {
  for (const feature of features) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(feature))) {
      const member = { ...descriptor, enumerable: false };
      Object.defineProperty(prototype, name, member);
      Object.defineProperty(prototype, snakeCase(name), member);
    }
  }
}

/** The value a feature keeps under its key, made when first asked for. */
export function slot<T>(host: FeatureHost, key: unknown, make: () => T): T {
  if (!host.slots.has(key)) host.slots.set(key, make());
  return host.slots.get(key) as T;
}

/** Adds middleware that is there once: enabled again, under the same key, it takes the place of the one before. */
export function replaceFeature(host: FeatureHost, key: unknown, middleware: Middleware): void {
  host.assertOpen(`enabling ${middleware.name ?? "a feature"}`);
  const place = slot(host, key, () => {
    const made = { middleware };
    const { name, slot, early } = middleware;
    const current = (route: RouteInfo): Middleware | null =>
      made.middleware.forRoute ? made.middleware.forRoute(route) : made.middleware;
    host.addFeature({ name, slot, early, forRoute: current } as Middleware);
    return made;
  });
  place.middleware = middleware;
}
