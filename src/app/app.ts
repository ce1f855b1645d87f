import type { IncomingMessage, ServerResponse } from "node:http";
import type { FactoryOptions } from "../di/container.js";
import type { Inject, Provided } from "../di/depends.js";
import type { FacesOf, Feature } from "../feature/feature.js";
import type { Host } from "../feature/host.js";
import { Request } from "../http/request.js";
import { decorating } from "../kit/decorating.js";
import type { Logger } from "../kit/logger.js";
import { addSnakeNames, type SnakeMembers } from "../kit/names.js";
import { onDemand } from "../kit/on-demand.js";
import { ValueError } from "../kit/value-error.js";
import { checkErrorClass, type ErrorClass, type ExceptionHandler } from "../pipeline/exceptions.js";
import { attach, type Blueprint } from "../routing/blueprint.js";
import { placeOfCall } from "../routing/places.js";
import { type Decorator, Router } from "../routing/router.js";
import { run } from "../server/run.js";
import type { RunOptions } from "../server/run-options.js";
import type { RunningServer } from "../server/running-server.js";
import { features } from "./features.js";
import { AppHost } from "./host.js";
import { assertInstallable } from "./install.js";
import type { Hook, LifecycleEvent } from "./lifecycle.js";

/** Application-level values. Declare them by merging into this interface. */
export interface AppState {
  [key: string]: unknown;
}

declare module "../http/request.js" {
  interface RequestMembers {
    /** The application that handles the request. */
    readonly app: App;
  }
}

/** The machinery of an application, for the server, the tests and the commands. Not a member, so that users do not see it. */
export let hostOf: (app: unknown) => AppHost;

class BaseApp extends Router {
  /** Values of the application, usually set by a startup hook. */
  readonly state: AppState = {};
  readonly #host: AppHost;
  readonly #servers: Promise<RunningServer>[] = [];

  static {
    hostOf = (app) => (app as BaseApp).#host;
  }

  constructor(...given: []) {
    if ((given as unknown[]).length > 0) {
      throw new ValueError("new App() takes no arguments: give name, port, debug and the like to app.run({ ... })");
    }
    const host = new AppHost(features);
    super(host);
    this.#host = host;
    apps.set(host, this as unknown as App);
  }

  /** True if clients see the details of errors. Decided by `run`. */
  get debug(): boolean {
    return this.#host.debug;
  }

  /** The environment. Decided by `run`. */
  get env(): "development" | "production" {
    return this.#host.env;
  }

  /** The log of the application and the framework. Can be replaced before the start. */
  get logger(): Logger {
    return this.#host.logger;
  }

  set logger(logger: Logger) {
    this.#host.logger = logger;
  }

  /** The stage of the application between its start and its end. */
  get phase(): Host["phase"] {
    return this.#host.phase;
  }

  /** Adds the routes of a blueprint, behind its prefix. */
  registerBlueprint(blueprint: Blueprint<string>): this {
    attach(blueprint, this.#host);
    return this;
  }

  /** Registers a shared value under a unique name; a route asks for it with `inject: { x: Depends(name) }`. */
  registerSingleton(name: string, value: unknown): this {
    this.#host.assertOpen("registerSingleton()");
    this.#host.container.addSingleton(name, value);
    return this;
  }

  /** Registers a value that is made once per request and disposed after the response. */
  registerScoped(name: string, factory: (request: Request) => unknown): this;
  registerScoped<I extends Inject = Record<never, never>>(
    name: string,
    options: FactoryOptions<I>,
    factory: (request: Request, injected: Provided<I>) => unknown,
  ): this;
  registerScoped(name: string, ...given: unknown[]): this {
    return this.#registerFactory("scoped", name, given);
  }

  /** Registers a value that is made for each use. */
  registerTransient(name: string, factory: (request: Request) => unknown): this;
  registerTransient<I extends Inject = Record<never, never>>(
    name: string,
    options: FactoryOptions<I>,
    factory: (request: Request, injected: Provided<I>) => unknown,
  ): this;
  registerTransient(name: string, ...given: unknown[]): this {
    return this.#registerFactory("transient", name, given);
  }

  /**
   * Installs a feature from outside: the application gains its members. The result has them in its type; a package can
   * also declare them for every `App`.
   */
  install<Face, Given extends readonly unknown[]>(
    feature: Feature<Face, Given>,
    ...given: Given
  ): this & Face & SnakeMembers<Face, keyof Face, this & Face> {
    this.#host.assertOpen("install()");
    const { lifecycle } = this.#host;
    const added = feature as unknown as Feature;
    assertInstallable(this, lifecycle.installed, added);
    // First, so that nothing is left of a feature that refuses its options.
    feature.install(this.#host, ...given);
    added.addMembers(this, hostOf);
    added.addToRequests(this.#host);
    lifecycle.install(added);
    return this as never;
  }

  /** Replaces a dependency in a test. Returns a function that restores it. */
  override(name: string, value: unknown): () => void {
    return this.#host.container.override(name, value);
  }

  /** Runs a function at `startup`, in order, or at `shutdown`, in reverse order; in every worker. */
  onEvent(event: LifecycleEvent, hook: Hook): this;
  onEvent(event: LifecycleEvent): Decorator<Hook>;
  onEvent(event: LifecycleEvent, hook?: Hook): unknown {
    this.#host.assertOpen("onEvent()");
    const { lifecycle } = this.#host;
    const place = placeOfCall(this.onEvent);
    if (hook !== undefined) {
      lifecycle.add(event, hook, place);
      return this;
    }
    return decorating((decorated: Hook) => lifecycle.add(event, decorated, place));
  }

  /** Handles errors of a class and its descendants; the handler of the nearest class wins. */
  exceptionHandler<E>(type: ErrorClass<E>, handler: ExceptionHandler<E>): this;
  exceptionHandler<E>(type: ErrorClass<E>): Decorator<ExceptionHandler<E>>;
  exceptionHandler<E>(type: ErrorClass<E>, handler?: ExceptionHandler<E>): unknown {
    this.#host.assertOpen("exceptionHandler()");
    checkErrorClass(type);
    const { exceptions } = this.#host;
    if (handler !== undefined) {
      exceptions.add(type, handler);
      return this;
    }
    return decorating((decorated: ExceptionHandler<E>) => exceptions.add(type, decorated));
  }

  /** Starts the server. Command-line arguments override the options. */
  async run(options?: RunOptions): Promise<RunningServer> {
    // Statements below the call may still add routes.
    const server = Promise.resolve().then(() => run(this.#host, options));
    this.#servers.push(server);
    return server;
  }

  /** Handles a standard web Request; starts the application if it has not been started. */
  async fetch(web: globalThis.Request): Promise<globalThis.Response> {
    this.#host.lifecycle.assertOutsideHook("a request to the application");
    await this.#host.start();
    return withWeb(({ answerWeb }) => answerWeb(web, this.#host.dispatch));
  }

  /** `fetch` with a path: `await app.request("/books", { method: "POST", body })`. */
  request(path: string, init?: RequestInit): Promise<globalThis.Response> {
    return this.fetch(new globalThis.Request(new URL(path, "http://localhost"), init));
  }

  /** A listener for node:http, to mount the application in an existing server. */
  nodeListener(): (request: IncomingMessage, response: ServerResponse) => void {
    const ready = Promise.all([import("../server/node/transport.js"), this.#host.start()]).then(
      ([{ createNodeListener }]) => createNodeListener(this.#host.dispatch),
    );
    ready.catch((error: unknown) => this.logger.error("the application failed to start", { error }));
    return (request, response) => {
      ready.then(
        (listener) => listener(request, response),
        () => response.writeHead(503).end(),
      );
    };
  }

  /** Freezes the routes, connects the engines and runs the startup hooks; once. */
  async start(): Promise<void> {
    this.#host.lifecycle.assertOutsideHook("app.start()");
    await this.#host.start();
  }

  /** Drains and closes the server of `run()`, closes WebSockets, runs the shutdown hooks and closes the engines. */
  async stop(): Promise<void> {
    this.#host.lifecycle.assertOutsideHook("app.stop()");
    for (const run of await Promise.allSettled(this.#servers)) {
      if (run.status === "fulfilled") await run.value.close();
    }
    await this.#host.stop();
  }

  #registerFactory(lifetime: "scoped" | "transient", name: string, given: readonly unknown[]): this {
    this.#host.assertOpen(`registering '${name}'`);
    this.#host.container.addFactory(lifetime, name, given);
    return this;
  }
}

const apps = new WeakMap<Host, App>();
const withWeb = onDemand(() => import("../http/web.js"));

type ContractNames = "registerBlueprint" | "registerSingleton" | "addGuard" | "nodeListener";
type Faces = FacesOf<typeof features>;

/** The application: routes, middleware, dependencies and features, and the server that runs them. */
export class App extends BaseApp {}
export interface App
  extends Faces,
    SnakeMembers<BaseApp, ContractNames, App>,
    SnakeMembers<Faces, keyof Faces, App>,
    OverloadedNames {}

/** Members whose second spelling cannot be derived because they are overloaded. */
interface OverloadedNames {
  readonly on_event: BaseApp["onEvent"];
  readonly exception_handler: BaseApp["exceptionHandler"];
  readonly register_scoped: BaseApp["registerScoped"];
  readonly register_transient: BaseApp["registerTransient"];
}

addSnakeNames(BaseApp.prototype, [
  "registerBlueprint",
  "registerSingleton",
  "registerScoped",
  "registerTransient",
  "onEvent",
  "exceptionHandler",
  "nodeListener",
]);
for (const feature of features) {
  feature.addMembers(BaseApp.prototype, hostOf);
  feature.addToRequests();
}

// The name that other frameworks use. It is not in the types, so that editors do not offer it.
Object.defineProperty(BaseApp.prototype, "listen", {
  value(): never {
    throw new ValueError("the server is started with app.run({ port: 8000 }), not with listen()");
  },
});

Object.defineProperty(Request.prototype, "app", {
  get(this: Request) {
    return this.host === null ? null : apps.get(this.host);
  },
});
