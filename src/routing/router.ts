import { type Guard, isGuard } from "../guards/guard.js";
import { requestMethods } from "../http/methods.js";
import type { Request } from "../http/request.js";
import type { ConfigOf } from "../kit/config-of.js";
import { decorating } from "../kit/decorating.js";
import { addSnakeNames } from "../kit/names.js";
import { checkOption, isPlainObject, show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { isMiddleware, type Middleware, type MiddlewareFunction, toMiddleware } from "../pipeline/middleware.js";
import type { StandardSchema } from "../validation/standard-schema.js";
import type { WebSocket } from "../websocket/socket.js";
import type { RouteDefinition, Scope } from "./definition.js";
import type { OnlyKnown, RouteHandler, RouteSocketHandler } from "./handler.js";
import { type RouteOptions, readRouteOptions, readWebSocketOptions, type WebSocketRouteOptions } from "./options.js";
import { joinPaths, parsePattern } from "./pattern.js";
import { placeOfCall } from "./places.js";
import { websocketMethod } from "./table.js";
import type { UnmadeRoutes } from "./unmade.js";

/**
 * The names of the options, and of the options of the objects that are given, beside the type of what is given: editors show
 * their comments. They show none for an object that may also be something else, hence the look at what is given.
 */
type Documented<Given, Options> = {
  readonly [K in keyof Options]?: K extends keyof Given
    ? Given[K] extends object
      ? Names<ObjectOf<Options[K]>>
      : unknown
    : unknown;
};

type Names<Options> = [Options] extends [never] ? unknown : { readonly [K in keyof Options]?: unknown };

/** The objects of options among the values that an option may have. */
type ObjectOf<Value> = Value extends
  | string
  | number
  | boolean
  | null
  | undefined
  | AnyFunction
  | readonly unknown[]
  | StandardSchema
  | ConfigOf<string>
  ? never
  : Value;

/** Registers a handler for one method: at once, or as a decorator when it is called without a handler. */
export interface RouteMethod<Prefix extends string, Self> {
  <const Path extends string>(path: Path, handler: RouteHandler<`${Prefix}${Path}`, unknown>): Self;
  <const Path extends string, const Options extends RouteOptions>(
    path: Path,
    options: Options & Documented<Options, RouteOptions> & OnlyKnown<Options, RouteOptions>,
    handler: RouteHandler<`${Prefix}${Path}`, Options>,
  ): Self;
  /** For one of several blueprints: the compiler calls a union of functions by a signature that all of them have. */
  (path: string, handler: (request: Request) => unknown): Self;
  <const Path extends string, const Options extends RouteOptions = RouteOptions>(
    path: Path,
    options?: Options & Documented<Options, RouteOptions> & OnlyKnown<Options, RouteOptions>,
  ): Decorator<RouteHandler<`${Prefix}${Path}`, Options>>;
}

/** Route options with `methods`. */
export interface MultiRouteOptions extends RouteOptions {
  /** The methods of the route. Default `["GET"]`. */
  readonly methods?: readonly string[];
}

export interface MultiRouteMethod<Prefix extends string, Self> {
  <const Path extends string, const Options extends MultiRouteOptions>(
    path: Path,
    options: Options & Documented<Options, MultiRouteOptions> & OnlyKnown<Options, MultiRouteOptions>,
    handler: RouteHandler<`${Prefix}${Path}`, Options>,
  ): Self;
  <const Path extends string>(
    path: Path,
    methods: readonly string[],
    handler: RouteHandler<`${Prefix}${Path}`, unknown>,
  ): Self;
  <const Path extends string>(path: Path, handler: RouteHandler<`${Prefix}${Path}`, unknown>): Self;
  /** For one of several blueprints: see `RouteMethod`. */
  (path: string, handler: (request: Request) => unknown): Self;
  (path: string, methods: readonly string[], handler: (request: Request) => unknown): Self;
  <const Path extends string, const Options extends MultiRouteOptions = MultiRouteOptions>(
    path: Path,
    options?:
      | (Options & Documented<Options, MultiRouteOptions> & OnlyKnown<Options, MultiRouteOptions>)
      | readonly string[],
  ): Decorator<RouteHandler<`${Prefix}${Path}`, Options>>;
}

export interface WebSocketMethod<Prefix extends string, Self> {
  <const Path extends string>(path: Path, handler: RouteSocketHandler<`${Prefix}${Path}`, unknown>): Self;
  <const Path extends string, const Options extends WebSocketRouteOptions>(
    path: Path,
    options: Options & Documented<Options, WebSocketRouteOptions> & OnlyKnown<Options, WebSocketRouteOptions>,
    handler: RouteSocketHandler<`${Prefix}${Path}`, Options>,
  ): Self;
  /** For one of several blueprints: see `RouteMethod`. */
  (path: string, handler: (socket: WebSocket) => unknown): Self;
  <const Path extends string, const Options extends WebSocketRouteOptions = WebSocketRouteOptions>(
    path: Path,
    options?: Options & Documented<Options, WebSocketRouteOptions> & OnlyKnown<Options, WebSocketRouteOptions>,
  ): Decorator<RouteSocketHandler<`${Prefix}${Path}`, Options>>;
}

/** Registers the decorated function, or the decorated method with its instance as `this`. */
export type Decorator<H> = <F extends H>(handler: F, context?: ClassMethodDecoratorContext) => F;

/** The place where a router's routes go: the application, or a blueprint. */
export interface RouteSink {
  readonly scope: MutableScope;
  /** Decorated methods without an instance. */
  readonly unmade: UnmadeRoutes;
  /** Takes routes, its own or a blueprint's: all of them, or none if one collides. Returns a function that gives them back. */
  accept(routes: readonly RouteDefinition[]): () => void;
  /** Throws when it is too late for changes. */
  assertOpen(call: string): void;
}

export interface MutableScope extends Scope {
  readonly options: Record<string, unknown>;
  readonly middleware: Middleware[];
  readonly guards: Guard[];
  readonly tags: string[];
}

export function emptyScope(): MutableScope {
  return { options: {}, middleware: [], guards: [], tags: [] };
}

/** The sink of a router; undefined for anything else. Not a member, so that users do not see it. */
export let sinkOf: (router: unknown) => RouteSink | undefined;

/** Takes routes, middleware and guards: the common part of App and Blueprint. */
export abstract class Router<Prefix extends string = ""> {
  /** Registers a GET route. It handles HEAD requests too. */
  declare readonly get: RouteMethod<Prefix, this>;
  /** Registers a POST route. */
  declare readonly post: RouteMethod<Prefix, this>;
  /** Registers a PUT route. */
  declare readonly put: RouteMethod<Prefix, this>;
  /** Registers a PATCH route. */
  declare readonly patch: RouteMethod<Prefix, this>;
  /** Registers a DELETE route. */
  declare readonly delete: RouteMethod<Prefix, this>;
  /** Registers an OPTIONS route. `enableCors()` handles CORS preflight requests. */
  declare readonly options: RouteMethod<Prefix, this>;
  /** Registers a HEAD route. */
  declare readonly head: RouteMethod<Prefix, this>;
  /** Registers a route for several methods; `methods` defaults to GET. */
  declare readonly route: MultiRouteMethod<Prefix, this>;
  /** Registers a WebSocket route. */
  declare readonly websocket: WebSocketMethod<Prefix, this>;
  readonly #sink: RouteSink;

  static {
    sinkOf = (router) => (typeof router === "object" && router !== null && #sink in router ? router.#sink : undefined);
  }

  /** @internal */
  constructor(sink: RouteSink) {
    this.#sink = sink;
  }

  /** Adds middleware; several run in the order added. */
  use(...middleware: (Middleware | MiddlewareFunction)[]): this {
    this.#sink.assertOpen("use()");
    for (const item of middleware) {
      refuseElsewhere(item);
      checkOption("use()", "middleware", item, isMiddleware);
      this.#sink.scope.middleware.push(toMiddleware(item));
    }
    return this;
  }

  /** Adds a guard to all routes. */
  addGuard(guard: Guard): this {
    this.#sink.assertOpen("addGuard()");
    if (!isGuard(guard)) {
      throw new ValueError(`addGuard takes a function or an object with check(request), not ${show(guard)}`);
    }
    this.#sink.scope.guards.push(guard);
    return this;
  }
}
addSnakeNames(Router.prototype, ["addGuard"]);

const routeMethods = ["get", "post", "put", "patch", "delete", "options", "head"] as const;

const knownMethods = new Set(requestMethods);

type AnyFunction = (...args: never[]) => unknown;

for (const name of routeMethods) {
  define(name, function named(path, options, handler) {
    return register(this, [name.toUpperCase()], path, options, handler, false, named);
  });
}

define("route", function route(path, options, handler) {
  const given = Array.isArray(options) ? { methods: options } : options;
  if (!isPlainObject(given)) return register(this, ["GET"], path, given, handler, false, route);
  const { methods, ...rest } = given as MultiRouteOptions;
  return register(this, methodsOf(path, methods ?? undefined), path, rest, handler, false, route);
});

define("websocket", function websocket(path, options, handler) {
  return register(this, [websocketMethod], path, options, handler, true, websocket);
});

function define(
  name: string,
  method: (this: Router, path: string, options?: unknown, handler?: AnyFunction) => unknown,
): void {
  Object.defineProperty(Router.prototype, name, { value: method, writable: true, configurable: true });
}

function register(
  router: Router,
  methods: readonly string[],
  path: string,
  options: unknown,
  handler: AnyFunction | undefined,
  websocket: boolean,
  called: AnyFunction,
): unknown {
  const place = placeOfCall(called);
  const sink = sinkOf(router)!;
  sink.assertOpen(`registering ${path}`);
  parsePattern(path);
  const given = options ?? undefined;
  if (given !== undefined && typeof given !== "function" && !isPlainObject(given)) {
    throw new ValueError(`the route ${path} takes options and a handler, not ${show(given)}`);
  }
  const plain = typeof given === "function" ? undefined : given;
  const read = websocket
    ? readWebSocketOptions(`the WebSocket route ${path}`, plain)
    : readRouteOptions(`the route ${path}`, plain);
  const add = (call: AnyFunction): void => {
    sink.accept([{ methods, path, websocket, options: read, handler: call, scopes: [], place }]);
  };
  if (typeof given === "function" && handler !== undefined) {
    throw new ValueError(
      `the route ${path} takes one function: give middleware as an option, { middleware: [...] }, before the handler`,
    );
  }
  const direct = typeof given === "function" ? (given as AnyFunction) : handler;
  if (direct !== undefined) {
    if (typeof direct !== "function")
      throw new ValueError(`the handler of ${path} must be a function, not ${show(direct)}`);
    add(direct);
    return router;
  }
  return decorating(
    (decorated: AnyFunction) => {
      if (typeof decorated !== "function") throw new ValueError(`the handler of ${path} must be a function`);
      add(decorated);
    },
    (name) => sink.unmade.add(`${name}() for ${methods.join(", ")} ${path}`),
  );
}

/** Things that `use` takes in other frameworks. */
function refuseElsewhere(item: unknown): void {
  if (typeof item === "string") {
    throw new ValueError(
      `use() takes no path: give the middleware to new Blueprint(${show(item)}, { middleware: [...] }), or to routes as an option`,
    );
  }
  if (sinkOf(item) !== undefined)
    throw new ValueError("use() takes middleware: add a blueprint with registerBlueprint()");
}

function methodsOf(path: string, given: readonly string[] = ["GET"]): readonly string[] {
  if (!Array.isArray(given) || given.length === 0) throw new ValueError(`the route ${path} needs a list of methods`);
  const methods = [...new Set(given.map((method) => String(method).toUpperCase()))];
  const unknown = methods.find((method) => !knownMethods.has(method));
  if (unknown !== undefined) throw new ValueError(`the route ${path} names the unknown method '${unknown}'`);
  return methods;
}

/** A route as it stands inside a blueprint: behind its prefix, within its scope. */
export function within(route: RouteDefinition, prefix: string, scope: Scope): RouteDefinition {
  return { ...route, path: joinPaths(prefix, route.path), scopes: [scope, ...route.scopes] };
}
