import type { IncomingMessage, ServerResponse } from "node:http";
import { startLogging } from "../batteries/request-log/feature.js";
import { Container, type Factory, type FactoryOptions } from "../di/container.js";
import type { Inject, Provided } from "../di/depends.js";
import { addFeatures, type FeatureHost } from "../feature/feature.js";
import { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { Logger } from "../internal/logger.js";
import { addSnakeNames, type SnakeMembers } from "../internal/names.js";
import { onDemand } from "../internal/on-demand.js";
import { isPlainObject } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import { createLogger } from "../logging/create-logger.js";
import type { Run } from "../pipeline/compile.js";
import { type ErrorClass, type ExceptionHandler, ExceptionHandlers } from "../pipeline/exceptions.js";
import type { Middleware } from "../pipeline/middleware.js";
import { createOnError } from "../pipeline/on-error.js";
import type { Blueprint } from "../route/blueprint.js";
import type { RouteDefinition } from "../route/route.js";
import { Router } from "../route/router.js";
import { RouteTable, websocketMethod } from "../routing/table.js";
import { run } from "../server/run.js";
import type { RunOptions } from "../server/run-options.js";
import type { RunSettings, RunTarget } from "../server/run-target.js";
import type { RunningServer } from "../server/running-server.js";
import type { SocketOptions } from "../websocket/options.js";
import { WebSocketRegistry } from "../websocket/registry.js";
import { type AppRoute, appRoute, compileRoutes, compileUnrouted } from "./compile-routes.js";
import { type Features, features, startRouteFeatures } from "./features.js";
import { type Hook, Lifecycle, type LifecycleEvent } from "./lifecycle.js";
import { loadOnDemand } from "./on-demand.js";
import { defaultSettings } from "./settings.js";

/** Application-level values. Declare them by merging into this interface. */
export interface AppState {
  [key: string]: unknown;
}

declare module "../http/request.js" {
  interface RequestSlots {
    /** The application that answers the request. */
    readonly app: App;
  }
}

/** Bytes a body may have unless the application or the route says otherwise. */
const defaultBodyLimit = 10_485_760;

class BaseApp extends Router implements RunTarget, FeatureHost {
  /** A bag for values of the application, usually filled by a startup hook. */
  readonly state: AppState = {};
  /** @internal */
  bodyLimit: number = defaultBodyLimit;
  /** @internal */
  addressOf: (request: Request) => string = peerAddress;
  /** @internal */
  originOf: ((request: Request) => string) | null = null;
  /** @internal */
  readonly slots: Map<unknown, unknown> = new Map();
  readonly #preparations: Hook[] = [];
  readonly #table = new RouteTable<AppRoute>();
  readonly #routes: AppRoute[] = [];
  readonly #container = new Container();
  readonly #exceptions = new ExceptionHandlers();
  readonly #lifecycle = new Lifecycle();
  readonly #sockets = new WebSocketRegistry();
  #features: Middleware[] = [];
  #links: (readonly [label: string, path: string])[] = [];
  #settings: RunSettings = defaultSettings();
  #logger: Logger | null = null;
  #unrouted: Run | null = null;

  /** Whether errors are shown to the client. Decided by `run`. */
  get debug(): boolean {
    return this.#settings.debug;
  }

  get env(): "development" | "production" {
    return this.#settings.env;
  }

  /** Where the application and the framework log to. */
  get logger(): Logger {
    return (this.#logger ??= createLogger({
      format: this.#settings.env === "production" ? "json" : undefined,
      level: this.#settings.debug ? "debug" : "info",
    }));
  }

  set logger(logger: Logger) {
    this.#logger = logger;
  }

  /** Where the application stands between its start and its end. */
  get phase(): Lifecycle["phase"] {
    return this.#lifecycle.phase;
  }

  registerBlueprint(blueprint: Blueprint<string>): this {
    if (typeof (blueprint as Partial<Blueprint<string>>)?.attach !== "function") {
      throw new ValueError("registerBlueprint takes a Blueprint");
    }
    blueprint.attach(this);
    return this;
  }

  /** Registers a shared value under a unique name; a route asks for it with `inject: { x: Depends(name) }`. */
  registerSingleton(name: string, value: unknown): this {
    this.assertOpen("registerSingleton()");
    this.#container.addSingleton(name, value);
    return this;
  }

  /** Registers a value made once per request, and let go of after the response. */
  registerScoped(name: string, factory: (request: Request) => unknown): this;
  registerScoped<I extends Inject = Record<never, never>>(
    name: string,
    options: FactoryOptions<I>,
    factory: (request: Request, injected: Provided<I>) => unknown,
  ): this;
  registerScoped(name: string, ...given: unknown[]): this {
    return this.#registerFactory("scoped", name, given);
  }

  /** Registers a value made anew each time it is asked for. */
  registerTransient(name: string, factory: (request: Request) => unknown): this;
  registerTransient<I extends Inject = Record<never, never>>(
    name: string,
    options: FactoryOptions<I>,
    factory: (request: Request, injected: Provided<I>) => unknown,
  ): this;
  registerTransient(name: string, ...given: unknown[]): this {
    return this.#registerFactory("transient", name, given);
  }

  /** Puts a value in place of a dependency, for a test; what it returns takes it away again. */
  override(name: string, value: unknown): () => void {
    return this.#container.override(name, value);
  }

  /** Runs a function at `startup`, in order, or at `shutdown`, in reverse; in every worker. */
  onEvent(event: LifecycleEvent, hook: Hook): this;
  onEvent(event: LifecycleEvent): <H extends Hook>(hook: H) => H;
  onEvent(event: LifecycleEvent, hook?: Hook): unknown {
    this.assertOpen("onEvent()");
    if (hook !== undefined) {
      this.#lifecycle.add(event, hook);
      return this;
    }
    return (decorated: Hook) => {
      this.#lifecycle.add(event, decorated);
      return decorated;
    };
  }

  /** Answers errors of a class and its descendants; the nearest class wins. */
  exceptionHandler<E>(type: ErrorClass<E>, handler: ExceptionHandler<E>): this;
  exceptionHandler<E>(type: ErrorClass<E>): <H extends ExceptionHandler<E>>(handler: H) => H;
  exceptionHandler<E>(type: ErrorClass<E>, handler?: ExceptionHandler<E>): unknown {
    this.assertOpen("exceptionHandler()");
    if (handler !== undefined) {
      this.#exceptions.add(type, handler);
      return this;
    }
    return (decorated: ExceptionHandler<E>) => {
      this.#exceptions.add(type, decorated);
      return decorated;
    };
  }

  /** @internal Adds middleware of the framework's own, which has its place whatever the order of the calls. */
  addFeature(middleware: Middleware): void {
    this.assertOpen(`enabling ${middleware.name ?? "a feature"}`);
    this.#features.push(middleware);
  }

  /** @internal A page to show in the banner. */
  addLink(label: string, path: string): void {
    this.#links.push([label, path]);
  }

  /** Starts the server. Command-line arguments win over the options. */
  async run(options?: RunOptions): Promise<RunningServer> {
    // What stands below the call may still add routes.
    await null;
    return run(this, options);
  }

  /** Answers a standard web Request; starts the application if that has not happened yet. */
  async fetch(web: globalThis.Request): Promise<globalThis.Response> {
    await this.start();
    return withWeb(({ answerWeb }) => answerWeb(web, this.dispatch));
  }

  /** `fetch` with a path: `await app.request("/books", { method: "POST", body })`. */
  request(path: string, init?: RequestInit): Promise<globalThis.Response> {
    return this.fetch(new globalThis.Request(new URL(path, "http://localhost"), init));
  }

  /** A listener for node:http, to mount the application in a server that exists already. */
  nodeListener(): (request: IncomingMessage, response: ServerResponse) => void {
    const ready = Promise.all([import("../server/node/transport.js"), this.start()]).then(([{ createNodeListener }]) =>
      createNodeListener(this.dispatch),
    );
    ready.catch((error: unknown) => this.logger.error("the application failed to start", { error }));
    return (request, response) => {
      ready.then(
        (listener) => listener(request, response),
        () => response.writeHead(503).end(),
      );
    };
  }

  /** Freezes the routes, compiles the pipelines and runs the startup hooks; once. */
  start(): Promise<void> {
    return this.#lifecycle.start(() => this.#prepare());
  }

  /** Runs the shutdown hooks. */
  async stop(): Promise<void> {
    // Handlers of WebSockets may still use what the hooks let go of.
    await this.#sockets.closeAll();
    await this.#lifecycle.stop(this.logger);
  }

  /** @internal */
  configure(settings: RunSettings): void {
    this.assertOpen("run()");
    this.#settings = settings;
  }

  /** @internal */
  beginDrain(): void {
    this.#lifecycle.drain();
    this.#sockets.closeAll();
  }

  /** @internal */
  links(): readonly (readonly [label: string, path: string])[] {
    return this.#links;
  }

  /** @internal Answers one request; never throws, never rejects. */
  readonly dispatch = (request: Request): Response | Promise<Response> => {
    request.host = this;
    const table = this.#table;
    let route: AppRoute | null;
    try {
      route = request.source.wantsWebSocket ? table.find(websocketMethod, request.path) : null;
      route ??= table.find(request.method, request.path);
    } catch {
      route = null;
    }
    if (route === null) return this.#unrouted!(request);
    const pattern = route.pattern;
    request.pattern = pattern.text;
    if (pattern.paramNames.length > 0) {
      request.paramNames = pattern.paramNames;
      request.paramValues = table.values;
    }
    return route.run(request);
  };

  /** @internal */
  clientAddress(request: Request): string {
    return this.addressOf(request);
  }

  /** @internal */
  get settings(): RunSettings {
    return this.#settings;
  }

  /** @internal */
  get middleware(): readonly Middleware[] {
    return [...this.#features, ...this.scope.middleware];
  }

  /** @internal */
  get routes(): readonly RouteDefinition[] {
    return this.#routes.map((route) => route.definition);
  }

  /** @internal */
  onPrepare(hook: Hook): void {
    this.#preparations.push(hook);
  }

  /** @internal */
  beforeStartup(hook: Hook): void {
    this.#lifecycle.before(hook);
  }

  /** @internal */
  afterShutdown(hook: Hook): void {
    this.#lifecycle.after(hook);
  }

  /** @internal */
  accept(definition: RouteDefinition): void {
    const route = appRoute(definition);
    for (const method of definition.methods) this.#table.add(method, route);
    this.#routes.push(route);
  }

  /** @internal */
  assertOpen(call: string): void {
    if (this.#lifecycle.phase !== "new") {
      throw new ValueError(`${call} comes too late: the application has been started and cannot be changed any more`);
    }
  }

  async #prepare(): Promise<void> {
    const settings = this.#settings;
    startLogging(this);
    for (const hook of this.#preparations) await hook();
    const starting = startRouteFeatures(this);
    this.#lifecycle.close();
    this.#features.push(...(await starting));
    const { validation, websocket, errorPage } = await loadOnDemand(this.routes, settings.debug);
    const parts = {
      middleware: this.middleware,
      guards: this.scope.guards,
      container: this.#container,
      onError: createOnError(this.#exceptions, this, errorPage?.developmentPage ?? null),
      requestTimeout: settings.requestTimeout,
      onInvalidResponse:
        settings.env === "production" ? (error: Error) => this.logger.error(error.message, { error }) : null,
      validation,
      websocket: (route: RouteDefinition) =>
        websocket!.websocketEndpoint(route.handler, route.options as SocketOptions, this.#sockets),
    };
    this.#sockets.debug = settings.debug;
    compileRoutes(this.#routes, parts);
    this.#unrouted = compileUnrouted(this.#table, parts);
  }

  #registerFactory(lifetime: "scoped" | "transient", name: string, given: readonly unknown[]): this {
    this.assertOpen(`registering '${name}'`);
    const [first, second] = given;
    const options = isPlainObject(first) ? (first as FactoryOptions) : {};
    this.#container.addFactory(lifetime, name, options, (isPlainObject(first) ? second : first) as Factory);
    return this;
  }
}

const withWeb = onDemand(() => import("../http/web.js"));

/** An IPv4 client of a server that listens on IPv6 comes as `::ffff:192.0.2.1`. */
function peerAddress({ source }: Request): string {
  const address = source.remoteAddress;
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

type ContractNames = "registerBlueprint" | "registerSingleton" | "addGuard";

/** The application: routes, middleware, dependencies and features, and the server that runs them. */
export class App extends BaseApp {}
export interface App
  extends Features,
    SnakeMembers<BaseApp, ContractNames, App>,
    SnakeMembers<Features, keyof Features, App>,
    ContractMethods {}

/** Members whose types cannot be derived because they are overloaded. */
interface ContractMethods {
  readonly on_event: BaseApp["onEvent"];
  readonly exception_handler: BaseApp["exceptionHandler"];
}

addSnakeNames(BaseApp.prototype, ["registerBlueprint", "registerSingleton", "onEvent", "exceptionHandler"]);
addFeatures(BaseApp.prototype, features);

Object.defineProperty(Request.prototype, "app", {
  get(this: Request) {
    return this.host;
  },
});
