import { addSnakeNames, type BothSpellings, type SnakeMembers } from "../kit/names.js";
import { ValueError } from "../kit/value-error.js";
import type { RouteDefinition } from "./definition.js";
import { type BlueprintOptions, readBlueprintOptions } from "./options.js";
import { parsePattern } from "./pattern.js";
import { emptyScope, Router, type RouteSink, sinkOf, within } from "./router.js";
import { UnmadeRoutes } from "./unmade.js";

class BaseBlueprint<Prefix extends string> extends Router<Prefix> {
  readonly prefix: Prefix;
  readonly #own: BlueprintSink;

  constructor(prefix: Prefix = "" as Prefix, options: BothSpellings<BlueprintOptions> = {}) {
    const sink = new BlueprintSink(prefix);
    super(sink);
    if (prefix !== "") parsePattern(prefix);
    this.prefix = prefix;
    this.#own = sink;
    const { tags = [], guards = [], middleware = [], ...inherited } = readBlueprintOptions(options);
    sink.scope.tags.push(...tags);
    sink.scope.guards.push(...guards);
    Object.assign(sink.scope.options, inherited);
    this.use(...middleware);
  }

  /** Puts another blueprint inside this one, behind its prefix. */
  registerBlueprint(child: BaseBlueprint<string>): this {
    attach(child, this.#own);
    return this;
  }
}

/** The routes of a blueprint, and the routers it is registered on. */
class BlueprintSink implements RouteSink {
  readonly scope = emptyScope();
  readonly unmade = new UnmadeRoutes();
  readonly #routes: RouteDefinition[] = [];
  readonly #parents: RouteSink[] = [];

  constructor(readonly prefix: string) {}

  /** Hands all routes, present and future, to a parent. */
  attach(parent: RouteSink): void {
    parent.assertOpen("registerBlueprint()");
    if (parent === this || (parent instanceof BlueprintSink && parent.#isInside(this))) {
      throw new ValueError(`the blueprint '${this.prefix}' cannot be registered inside itself`);
    }
    if (this.#parents.includes(parent)) throw new ValueError(`the blueprint '${this.prefix}' is registered already`);
    parent.accept(this.#behindPrefix(this.#routes));
    this.#parents.push(parent);
    parent.unmade.include(this.unmade);
  }

  accept(routes: readonly RouteDefinition[]): () => void {
    const undo: (() => void)[] = [];
    const giveBack = (): void => {
      for (const each of undo.reverse()) each();
    };
    try {
      for (const parent of this.#parents) undo.push(parent.accept(this.#behindPrefix(routes)));
    } catch (error) {
      giveBack();
      throw error;
    }
    const before = this.#routes.length;
    this.#routes.push(...routes);
    undo.push(() => void this.#routes.splice(before));
    return giveBack;
  }

  assertOpen(call: string): void {
    for (const parent of this.#parents) parent.assertOpen(call);
  }

  #behindPrefix(routes: readonly RouteDefinition[]): RouteDefinition[] {
    return routes.map((route) => within(route, this.prefix, this.scope));
  }

  #isInside(other: BlueprintSink): boolean {
    return this.#parents.some(
      (parent) => parent === other || (parent instanceof BlueprintSink && parent.#isInside(other)),
    );
  }
}

/** Registers a blueprint on an application or on another blueprint. */
export function attach(blueprint: unknown, parent: RouteSink): void {
  const sink = sinkOf(blueprint);
  if (!(sink instanceof BlueprintSink)) throw new ValueError("registerBlueprint takes a Blueprint");
  sink.attach(parent);
}

/** Routes under a common prefix, with their own guards, middleware and tags; may hold further blueprints. */
export class Blueprint<const Prefix extends string = ""> extends BaseBlueprint<Prefix> {}
export interface Blueprint<Prefix extends string>
  extends SnakeMembers<BaseBlueprint<Prefix>, "addGuard" | "registerBlueprint", Blueprint<Prefix>> {}
addSnakeNames(BaseBlueprint.prototype, ["registerBlueprint"]);
