import { Container } from "../di/container.js";
import type { Inject } from "../di/depends.js";
import { httpError } from "../errors/http-error.js";
import type { ListedRoute } from "../errors/pages/not-found-page.js";
import type { Feature } from "../feature/feature.js";
import type { Host, HostPipeline, HostRoute, HostSocketRoute, Phase } from "../feature/host.js";
import type { Guard } from "../guards/guard.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { Logger } from "../kit/logger.js";
import type { Tracer } from "../kit/tracer.js";
import { ValueError } from "../kit/value-error.js";
import { createLogger } from "../logging/create-logger.js";
import type { Step } from "../pipeline/endpoint.js";
import { ExceptionHandlers } from "../pipeline/exceptions.js";
import type { Middleware, OnError, Run } from "../pipeline/middleware.js";
import { createOnError } from "../pipeline/on-error.js";
import type { RouteDefinition } from "../routing/definition.js";
import { emptyScope, type RouteSink } from "../routing/router.js";
import { RouteTable, websocketMethod } from "../routing/table.js";
import { UnmadeRoutes } from "../routing/unmade.js";
import type { Keeper, RouteWatch, RunSettings, RunTarget } from "../server/run-target.js";
import type { HubServices } from "../server/worker-messages/service.js";
import type { SocketOptions } from "../websocket/options.js";
import { WebSocketRegistry } from "../websocket/registry.js";
import { type AppRoute, appRoute, compileRoutes, compileUnrouted, notCompiled, ownerOf } from "./compile-routes.js";
import { createKeeper } from "./features.js";
import { Lifecycle } from "./lifecycle.js";
import { loadOnDemand } from "./on-demand.js";
import { defaultSettings } from "./settings.js";
import { StoreRegistry } from "./store-registry.js";

/** The largest request body in bytes, unless the application or the route says otherwise. */
const defaultBodyLimit = 10_485_760;

/** The machinery behind an App: one object for its routes, its features, the server and the requests. */
export class AppHost extends StoreRegistry implements Host, RunTarget, RouteSink {
  readonly scope = emptyScope();
  readonly unmade = new UnmadeRoutes();
  readonly container = new Container();
  readonly exceptions = new ExceptionHandlers();
  readonly lifecycle: Lifecycle;
  readonly sockets = new WebSocketRegistry();
  replaced = false;
  bodyLimit: number = defaultBodyLimit;
  addressOf: (request: Request) => string = peerAddress;
  originOf: ((request: Request) => string) | null = null;
  storePatienceMs: number = Number.POSITIVE_INFINITY;
  tracer: Tracer | null = null;
  #table = new RouteTable<AppRoute>();
  readonly #routes: AppRoute[] = [];
  /** Routes without a path. */
  readonly #pipelines: AppRoute[] = [];
  readonly #features: Middleware[] = [];
  readonly #links: (readonly [label: string, path: string])[] = [];
  readonly #refusedListeners: ((code: string) => void)[] = [];
  #settings: RunSettings = defaultSettings();
  #logger: Logger | null = null;
  #compiled = false;
  #unrouted: Run = notCompiled;
  #routeWatch: RouteWatch | null = null;

  constructor(features: readonly Feature[]) {
    super();
    this.lifecycle = new Lifecycle(features);
  }

  get debug(): boolean {
    return this.#settings.debug;
  }

  get env(): "development" | "production" {
    return this.#settings.env;
  }

  get settings(): RunSettings {
    return this.#settings;
  }

  get phase(): Phase {
    return this.lifecycle.phase;
  }

  get logger(): Logger {
    if (this.#logger !== null) return this.#logger;
    const { env, debug, name } = this.#settings;
    const logger = createLogger({
      format: env === "production" ? "json" : undefined,
      level: debug ? "debug" : "info",
    });
    return (this.#logger = name === undefined ? logger : logger.child({ name }));
  }

  set logger(logger: Logger) {
    this.#logger = logger;
  }

  get guards(): readonly Guard[] {
    return this.scope.guards;
  }

  get middleware(): readonly Middleware[] {
    return [...this.#features, ...this.scope.middleware];
  }

  get routes(): readonly RouteDefinition[] {
    return this.#routes.map((route) => route.definition);
  }

  /** Routes that no path of the HTTP server leads to: the methods of gRPC, the tools of MCP. */
  get pipelines(): readonly RouteDefinition[] {
    return this.#pipelines.map((route) => route.definition);
  }

  use(middleware: Middleware): void {
    this.#assertNotCompiled(`the ${middleware.name ?? "unnamed"} middleware`);
    this.#features.push(middleware);
  }

  route(route: HostRoute): void {
    this.accept([hostRoute(route)]);
  }

  pipeline(given: HostRoute): HostPipeline {
    this.#assertNotCompiled(`the route ${given.path}`);
    const route = appRoute(hostRoute(given));
    this.#pipelines.push(route);
    return {
      dispatch: (request) => {
        request.host = this;
        request.pattern = route.pattern.text;
        return route.run(request);
      },
    };
  }

  run(definition: RouteDefinition, request: Request, paramValues: readonly string[]): Response | Promise<Response> {
    const route = this.#routes.find((one) => one.definition === definition)!;
    request.host = this;
    request.pattern = route.pattern.text;
    request.paramNames = route.pattern.paramNames;
    request.paramValues = paramValues;
    return route.run(request);
  }

  websocket({ path, handler, options = {} }: HostSocketRoute): void {
    const whole = { hidden: true, ...options };
    this.accept([{ methods: [websocketMethod], path, websocket: true, options: whole, handler, scopes: [] }]);
  }

  injector(inject: Inject, owner: string): Step {
    return this.container.step(inject, owner);
  }

  link(label: string, path: string): void {
    this.#links.push([label, path]);
  }

  links(): readonly (readonly [label: string, path: string])[] {
    return this.#links;
  }

  onRefused(listener: (code: string) => void): void {
    this.#refusedListeners.push(listener);
  }

  refused(code: string): void {
    for (const listener of this.#refusedListeners) listener(code);
  }

  services(): Promise<HubServices> {
    return this.lifecycle.services();
  }

  keeper(): Promise<Keeper> {
    return createKeeper();
  }

  accept(definitions: readonly RouteDefinition[]): () => void {
    const before = this.#routes.length;
    const giveBack = (): void => this.#keepRoutes(before);
    try {
      for (const definition of definitions) {
        this.#assertNotCompiled(`the route ${definition.path}`);
        const route = appRoute(definition);
        this.#addToTable(route);
        this.#routes.push(route);
      }
    } catch (error) {
      giveBack();
      throw error;
    }
    return giveBack;
  }

  assertOpen(call: string): void {
    if (this.phase !== "new") {
      throw new ValueError(`${call} comes too late: the application has been started and cannot be changed any more`);
    }
  }

  configure(settings: RunSettings): void {
    this.assertOpen("run()");
    this.#settings = settings;
  }

  watchRoutes(watch: RouteWatch): void {
    this.#routeWatch = watch;
  }

  /** The part of the start that connects nothing, for commands that look at the routes. No start may follow. */
  prepare(): Promise<void> {
    return this.lifecycle.prepare(this, () => this.#compile());
  }

  start(): Promise<void> {
    return this.lifecycle.start(this, () => this.#compile());
  }

  announceDrain(): void {
    this.lifecycle.announceDrain();
  }

  beginDrain(replaced = false): void {
    this.replaced = replaced;
    void this.lifecycle.drain(this);
  }

  stop(): Promise<boolean> {
    return this.lifecycle.stop(this);
  }

  /** Handles one request; never throws, never rejects. */
  readonly dispatch = (request: Request): Response | Promise<Response> => {
    request.host = this;
    const table = this.#table;
    const upgrade = request.source.wantsWebSocket ? table.findWebSocket(request.path) : null;
    const found = upgrade ?? table.find(request.method, request.path);
    const route = found.route;
    if (route === null) {
      request.miss = found;
      return this.#unrouted(request);
    }
    const pattern = route.pattern;
    request.pattern = pattern.text;
    if (pattern.paramNames.length > 0) {
      request.paramNames = pattern.paramNames;
      request.paramValues = found.values;
    }
    return route.run(request);
  };

  async #compile(): Promise<void> {
    const { debug, requestTimeout, validateLimit } = this.#settings;
    for (const label of this.unmade.labels()) {
      this.logger.warn(`${label} is decorated but not registered: create an instance of its class before the start`);
    }
    this.#prepareMiddleware();
    await this.warnOfLocalStores(this);
    const onDemand = await loadOnDemand([...this.routes, ...this.pipelines], debug);
    const { websocket, errorPage } = onDemand;
    const parts = {
      middleware: this.middleware,
      guards: this.guards,
      container: this.container,
      onError: createOnError(this.exceptions, this, errorPage?.developmentPages(this.#listedRoutes()) ?? null),
      logger: this.logger,
      requestTimeout,
      validateLimit,
      ...onDemand,
      websocket: (route: RouteDefinition) =>
        websocket!.websocketEndpoint(route.handler, route.options as SocketOptions, this.sockets),
    };
    compileRoutes([...this.#routes, ...this.#pipelines], parts);
    this.#watchRoutes(parts.onError);
    this.#unrouted = compileUnrouted(parts);
    this.#compiled = true;
  }

  #watchRoutes(onError: OnError): void {
    if (this.#routeWatch === null) return;
    const refuse = (request: Request): Response | Promise<Response> =>
      onError(request, httpError("SERVICE_UNAVAILABLE", undefined, { headers: { "Retry-After": "10" } }), "sync");
    for (const route of this.#routes) {
      route.run = this.#routeWatch.around(ownerOf(route.definition), route.run, refuse);
    }
  }

  /** The routes for the page of a path without one. Those of features are hidden, as in the API's documentation. */
  #listedRoutes(): ListedRoute[] {
    return this.routes
      .filter(({ internal, websocket, options }) => !internal && !websocket && options.hidden !== true)
      .map(({ methods, path, options }) => ({ methods, path, summary: options.summary }));
  }

  /** Lets every middleware of the application and of the routes request shared stores. */
  #prepareMiddleware(): void {
    const all = new Set(this.middleware);
    for (const { scopes, options } of this.routes) {
      for (const scope of scopes) for (const item of scope.middleware) all.add(item);
      for (const item of options.middleware ?? []) if (typeof item === "object") all.add(item);
    }
    for (const item of all) item.prepare?.(this);
  }

  #addToTable(route: AppRoute): void {
    for (const method of route.definition.methods) this.#table.add(method, route);
  }

  /** Drops all routes but the first `count`. The table is made again: no route can be taken out of it. */
  #keepRoutes(count: number): void {
    this.#routes.length = count;
    this.#table = new RouteTable();
    for (const route of this.#routes) this.#addToTable(route);
  }

  #assertNotCompiled(what: string): void {
    if (this.#compiled) throw new ValueError(`${what} comes too late: the application has been started`);
  }
}

function hostRoute(given: HostRoute): RouteDefinition {
  const { path, handler, method = "GET", options = {}, internal = false, inner = false } = given;
  const whole = { hidden: true, ...options };
  return { methods: [method], path, websocket: false, options: whole, handler, scopes: [], internal, inner };
}

/** An IPv4 client of a server that listens on IPv6 comes as `::ffff:192.0.2.1`. */
function peerAddress({ source }: Request): string {
  const address = source.remoteAddress;
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
