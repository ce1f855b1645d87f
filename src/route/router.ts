import type { Guard } from "../guards/guard.js";
import { isGuard } from "../guards/guard.js";
import { requestMethods } from "../http/methods.js";
import { checkOption, isPlainObject, readOptions, show } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import type { Middleware, MiddlewareFunction } from "../pipeline/middleware.js";
import type { PathParams } from "../routing/params.js";
import { joinPaths, parsePattern } from "../routing/pattern.js";
import { websocketMethod } from "../routing/table.js";
import type { WebSocket } from "../websocket/socket.js";
import {
  type Handler,
  type InjectedBy,
  isMiddleware,
  type OnlyKnown,
  type PlainRouteOptions,
  type RouteDefinition,
  type RouteOptions,
  routeOptionChecks,
  type Scope,
  toMiddleware,
  type WebSocketRouteOptions,
  websocketOptionChecks,
} from "./route.js";

/** Registers a handler for one method: at once, or as a decorator when it is called without a handler. */
export interface RouteMethod<Prefix extends string, Self> {
  <const Path extends string>(path: Path, handler: Handler<`${Prefix}${Path}`, unknown>): Self;
  <const Path extends string, const Options extends RouteOptions>(
    path: Path,
    options: Options & OnlyKnown<Options, RouteOptions>,
    handler: Handler<`${Prefix}${Path}`, Options>,
  ): Self;
  <const Path extends string, const Options extends RouteOptions = RouteOptions>(
    path: Path,
    options?: Options & OnlyKnown<Options, RouteOptions>,
  ): Decorator<Handler<`${Prefix}${Path}`, Options>>;
}

/** `methods` as an option, or in place of the options as the contract has it. */
export type MultiRouteOptions = RouteOptions & { readonly methods?: readonly string[] };

export interface MultiRouteMethod<Prefix extends string, Self> {
  <const Path extends string, const Options extends MultiRouteOptions>(
    path: Path,
    options: Options & OnlyKnown<Options, MultiRouteOptions>,
    handler: Handler<`${Prefix}${Path}`, Options>,
  ): Self;
  <const Path extends string>(
    path: Path,
    methods: readonly string[],
    handler: Handler<`${Prefix}${Path}`, unknown>,
  ): Self;
  <const Path extends string>(path: Path, handler: Handler<`${Prefix}${Path}`, unknown>): Self;
  <const Path extends string, const Options extends MultiRouteOptions = MultiRouteOptions>(
    path: Path,
    options?: (Options & OnlyKnown<Options, MultiRouteOptions>) | readonly string[],
  ): Decorator<Handler<`${Prefix}${Path}`, Options>>;
}

export type SocketHandler<Path extends string, Options> = (
  socket: WebSocket<PathParams<Path>>,
  injected: InjectedBy<Options>,
) => unknown;

export interface WebSocketMethod<Prefix extends string, Self> {
  <const Path extends string>(path: Path, handler: SocketHandler<`${Prefix}${Path}`, unknown>): Self;
  <const Path extends string, const Options extends WebSocketRouteOptions>(
    path: Path,
    options: Options & OnlyKnown<Options, WebSocketRouteOptions>,
    handler: SocketHandler<`${Prefix}${Path}`, Options>,
  ): Self;
  <const Path extends string, const Options extends WebSocketRouteOptions = WebSocketRouteOptions>(
    path: Path,
    options?: Options & OnlyKnown<Options, WebSocketRouteOptions>,
  ): Decorator<SocketHandler<`${Prefix}${Path}`, Options>>;
}

/** Registers what it is put on: a function, or a method by a standard decorator (then with its instance as `this`). */
export type Decorator<H> = <F extends H>(handler: F, context?: ClassMethodDecoratorContext) => F;

/** What App and Blueprint have in common: they take routes, middleware, guards and blueprints. */
export abstract class Router<Prefix extends string = ""> {
  declare readonly get: RouteMethod<Prefix, this>;
  declare readonly post: RouteMethod<Prefix, this>;
  declare readonly put: RouteMethod<Prefix, this>;
  declare readonly patch: RouteMethod<Prefix, this>;
  declare readonly delete: RouteMethod<Prefix, this>;
  declare readonly options: RouteMethod<Prefix, this>;
  declare readonly head: RouteMethod<Prefix, this>;
  /** A route for several methods; `methods` defaults to GET. */
  declare readonly route: MultiRouteMethod<Prefix, this>;
  declare readonly websocket: WebSocketMethod<Prefix, this>;
  /** @internal */
  readonly scope: {
    options: Record<string, unknown>;
    middleware: Middleware[];
    guards: Guard[];
    tags: string[];
  } & Scope = {
    options: {},
    middleware: [],
    guards: [],
    tags: [],
  };

  /** Adds middleware; several run in the order added. */
  use(...middleware: (Middleware | MiddlewareFunction)[]): this {
    this.assertOpen("use()");
    for (const item of middleware) {
      checkOption("use()", "middleware", item, isMiddleware);
      this.scope.middleware.push(toMiddleware(item));
    }
    return this;
  }

  /** Adds a guard to all routes. */
  addGuard(guard: Guard): this {
    this.assertOpen("addGuard()");
    if (!isGuard(guard)) {
      throw new ValueError(`addGuard takes a function or an object with check(request), not ${show(guard)}`);
    }
    this.scope.guards.push(guard);
    return this;
  }

  /** @internal Takes a route, its own or a blueprint's. */
  abstract accept(route: RouteDefinition): void;

  /** @internal Throws when it is too late for changes. */
  abstract assertOpen(call: string): void;
}

const routeMethods = ["get", "post", "put", "patch", "delete", "options", "head"] as const;

const knownMethods = new Set(requestMethods);

type AnyFunction = (...args: never[]) => unknown;

for (const name of routeMethods) {
  define(name, function (path, options, handler) {
    const read = (given: unknown): PlainRouteOptions => readOptions(`the route ${path}`, given, routeOptionChecks);
    return register(this, [name.toUpperCase()], path, options, handler, read, false);
  });
}

define("route", function (path, options, handler) {
  const given = Array.isArray(options) ? { methods: options } : typeof options === "function" ? undefined : options;
  const methods = methodsOf(path, (given as MultiRouteOptions | undefined)?.methods);
  const rest = { ...(given as object | undefined) } as Record<string, unknown>;
  delete rest["methods"];
  const read = (plain: unknown): PlainRouteOptions => readOptions(`the route ${path}`, plain, routeOptionChecks);
  return register(this, methods, path, typeof options === "function" ? options : rest, handler, read, false);
});

define("websocket", function (path, options, handler) {
  const read = (given: unknown): object => readOptions(`the WebSocket route ${path}`, given, websocketOptionChecks);
  return register(this, [websocketMethod], path, options, handler, read, true);
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
  given: unknown,
  handler: AnyFunction | undefined,
  read: (given: unknown) => object,
  websocket: boolean,
): unknown {
  router.assertOpen(`registering ${path}`);
  parsePattern(path);
  if (given !== undefined && typeof given !== "function" && !isPlainObject(given)) {
    throw new ValueError(`the route ${path} takes options and a handler, not ${show(given)}`);
  }
  const options = read(typeof given === "function" ? undefined : given) as RouteDefinition["options"];
  const add = (call: AnyFunction): void => {
    router.accept({ methods, path, websocket, options, handler: call, scopes: [] });
  };
  const direct = typeof given === "function" ? (given as AnyFunction) : handler;
  if (direct !== undefined) {
    if (typeof direct !== "function")
      throw new ValueError(`the handler of ${path} must be a function, not ${show(direct)}`);
    add(direct);
    return router;
  }
  return (decorated: AnyFunction, context?: ClassMethodDecoratorContext) => {
    if (typeof decorated !== "function") throw new ValueError(`the handler of ${path} must be a function`);
    if (context?.kind !== "method") {
      add(decorated);
      return decorated;
    }
    context.addInitializer(function (this: unknown) {
      add(decorated.bind(this as never));
    });
    return undefined;
  };
}

function methodsOf(path: string, given: readonly string[] = ["GET"]): readonly string[] {
  if (!Array.isArray(given) || given.length === 0) throw new ValueError(`the route ${path} needs a list of methods`);
  const methods = [...new Set(given.map((method) => String(method).toUpperCase()))];
  const unknown = methods.find((method) => !knownMethods.has(method));
  if (unknown !== undefined) throw new ValueError(`the route ${path} names the unknown method '${unknown}'`);
  return methods;
}

/** @internal A route as it stands inside a blueprint or with a prefix before it. */
export function within(route: RouteDefinition, prefix: string, scope: Scope): RouteDefinition {
  return { ...route, path: joinPaths(prefix, route.path), scopes: [scope, ...route.scopes] };
}
