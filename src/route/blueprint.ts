import type { Guard } from "../guards/guard.js";
import { addSnakeNames, type BothSpellings, type SnakeMembers } from "../internal/names.js";
import { type Checks, is, readOptions } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import type { Middleware, MiddlewareFunction } from "../pipeline/middleware.js";
import { parsePattern } from "../routing/pattern.js";
import { isMiddleware, type PlainRouteOptions, type RouteDefinition, routeOptionChecks } from "./route.js";
import { Router, within } from "./router.js";

/** What routes of a blueprint share unless they say otherwise. */
const inherited = ["rateLimit", "cache", "circuitBreaker"] as const;

export interface BlueprintOptions extends Pick<PlainRouteOptions, (typeof inherited)[number]> {
  /** Tags of every route in it, for the documentation. */
  readonly tags?: readonly string[];
  readonly guards?: readonly Guard[];
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
}

const optionChecks: Checks<BlueprintOptions> = {
  tags: is.strings,
  guards: routeOptionChecks.guards,
  middleware: is.list(isMiddleware),
  rateLimit: routeOptionChecks.rateLimit,
  cache: routeOptionChecks.cache,
  circuitBreaker: routeOptionChecks.circuitBreaker,
};

class BaseBlueprint<Prefix extends string> extends Router<Prefix> {
  readonly prefix: Prefix;
  readonly #routes: RouteDefinition[] = [];
  readonly #parents: Router<string>[] = [];
  readonly #children: BaseBlueprint<string>[] = [];

  constructor(prefix: Prefix = "" as Prefix, options: BothSpellings<BlueprintOptions> = {}) {
    super();
    if (prefix !== "") parsePattern(prefix);
    this.prefix = prefix;
    const read = readOptions("Blueprint", options, optionChecks);
    this.scope.tags.push(...(read.tags ?? []));
    this.scope.guards.push(...(read.guards ?? []));
    for (const name of inherited) if (read[name] !== undefined) this.scope.options[name] = read[name];
    if (read.middleware) this.use(...read.middleware);
  }

  /** Puts another blueprint inside this one, behind its prefix. */
  registerBlueprint(child: BaseBlueprint<string>): this {
    child.attach(this);
    this.#children.push(child);
    return this;
  }

  /** @internal Hands all routes, present and future, to whatever the blueprint is registered on. */
  attach(parent: Router<string>): void {
    if (!(parent instanceof Router)) throw new ValueError("a blueprint is registered on an app or on a blueprint");
    parent.assertOpen("registerBlueprint()");
    if ((parent as unknown) === this || (parent instanceof BaseBlueprint && this.#holds(parent))) {
      throw new ValueError(`the blueprint '${this.prefix}' cannot be registered inside itself`);
    }
    if (this.#parents.includes(parent)) throw new ValueError(`the blueprint '${this.prefix}' is registered already`);
    this.#parents.push(parent);
    for (const route of this.#routes) parent.accept(within(route, this.prefix, this.scope));
  }

  /** @internal */
  accept(route: RouteDefinition): void {
    this.#routes.push(route);
    for (const parent of this.#parents) parent.accept(within(route, this.prefix, this.scope));
  }

  /** @internal */
  assertOpen(call: string): void {
    for (const parent of this.#parents) parent.assertOpen(call);
  }

  #holds(other: BaseBlueprint<string>): boolean {
    return this.#children.some((child) => child === other || child.#holds(other));
  }
}

/** Routes under a common prefix, with guards, middleware and tags of their own; may hold further blueprints. */
export class Blueprint<const Prefix extends string = ""> extends BaseBlueprint<Prefix> {}
export interface Blueprint<Prefix extends string>
  extends SnakeMembers<BaseBlueprint<Prefix>, "addGuard" | "registerBlueprint", Blueprint<Prefix>> {}
addSnakeNames(BaseBlueprint.prototype, ["registerBlueprint"]);
addSnakeNames(Router.prototype, ["addGuard"]);
