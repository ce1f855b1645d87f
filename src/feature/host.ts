import type { Container } from "../di/container.js";
import type { Inject } from "../di/depends.js";
import type { Guard } from "../guards/guard.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { Logger } from "../kit/logger.js";
import type { Tracer } from "../kit/tracer.js";
import type { Step } from "../pipeline/endpoint.js";
import type { Middleware } from "../pipeline/middleware.js";
import type { SharedStores, StoreExtension, StoreSource } from "../pipeline/shared-stores.js";
import type { RouteDefinition, Scope } from "../routing/definition.js";
import type { RunSettings } from "../server/run-target.js";
import type { SocketOptions } from "../websocket/options.js";
import type { WebSocketRegistry } from "../websocket/registry.js";
import type { WebSocket } from "../websocket/socket.js";

/** The stages of an application between its start and its end. */
export type Phase = "new" | "starting" | "started" | "draining" | "stopped";

/** The part of the application that features can use. Users see `App` instead; neither shows the other's members. */
export interface Host extends StoreSource {
  /** The log of the application. Telemetry puts one in its place that exports the lines too. */
  logger: Logger;
  readonly debug: boolean;
  readonly env: "development" | "production";
  readonly phase: Phase;
  /** True if it ends because another process serves in its place. */
  readonly replaced: boolean;
  readonly settings: RunSettings;
  /** Throws once the application has been started: `call` comes too late. */
  assertOpen(call: string): void;
  /** The largest request body in bytes. */
  bodyLimit: number;
  /** Determines the client's address. */
  addressOf: (request: Request) => string;
  /** Determines scheme and host where proxies are trusted; null elsewhere. */
  originOf: ((request: Request) => string) | null;
  /** The longest time that one request waits for all shared stores together. */
  storePatienceMs: number;
  /** The middleware and guards that the application itself uses. */
  readonly scope: Scope;
  /** The dependencies of the application. */
  readonly container: Container;
  /** All guards of the application. */
  readonly guards: readonly Guard[];
  /** All middleware: that of features, then that of the application. */
  readonly middleware: readonly Middleware[];
  /** All routes, those of blueprints included. */
  readonly routes: readonly RouteDefinition[];
  /** The open WebSockets of the application. */
  readonly sockets: WebSocketRegistry;
  /** Records the calls of engines. Set in `prepare` by the feature that exports spans; null where there is none. */
  tracer: Tracer | null;
  /** Adds middleware at its slot. Possible until all features are prepared. */
  use(middleware: Middleware): void;
  /** Adds a route of the framework. Possible until all features are prepared. */
  route(route: HostRoute): void;
  /**
   * Makes the pipeline of a route that no path of the HTTP server leads to: for calls that arrive at another server. The
   * middleware, guards and options of the application apply to it as to any route. Possible until all features are prepared.
   */
  pipeline(route: HostRoute): HostPipeline;
  /**
   * Handles a request by one of the routes, with all its middleware, whatever the path of the request: another route could match
   * that too. To be called once the application has been started.
   */
  run(route: RouteDefinition, request: Request, paramValues: readonly string[]): Response | Promise<Response>;
  /** Adds a WebSocket route of the framework. Possible until all features are prepared. */
  websocket(route: HostSocketRoute): void;
  /** Provides dependencies by their names. An unknown name is an error that names the owner. */
  injector(inject: Inject, owner: string): Step;
  /** Lists a page in the banner that is printed when the server listens. */
  link(label: string, path: string): void;
  /** Calls back with the code of each request that the server refuses before the application sees it. */
  onRefused(listener: (code: string) => void): void;
  /** Offers a store to all features that ask for this kind. Engines call it in `prepare`. */
  share<Kind extends keyof SharedStores>(kind: Kind, store: SharedStores[Kind]): void;
  /** Makes stores of one process those of the machine, where no engine shares a store of this kind. */
  extend<Kind extends keyof SharedStores>(kind: Kind, over: StoreExtension<SharedStores[Kind]>): void;
}

/** A route that a feature adds. It is left out of the API's documentation. */
export interface HostRoute {
  readonly path: string;
  /** Default GET. */
  readonly method?: "GET" | "POST" | "DELETE";
  readonly handler: (request: Request, injected: Record<string, unknown>) => unknown;
  readonly options?: RouteDefinition["options"];
  /** True for a route of operators: neither the application's middleware and guards nor limits apply to it. */
  readonly internal?: boolean;
  /** True for work inside of another request, which has passed the application's middleware and guards: only its own guards apply. */
  readonly inner?: boolean;
}

/** The pipeline of a route that has no path. */
export interface HostPipeline {
  /** Handles one request; never throws, never rejects. To be called once the application has been started. */
  dispatch(request: Request): Response | Promise<Response>;
}

/** A WebSocket route that a feature adds. */
export interface HostSocketRoute {
  readonly path: string;
  readonly handler: (socket: WebSocket) => unknown;
  readonly options?: SocketOptions;
}

declare module "../http/request.js" {
  interface RequestHost extends Host {}
}

/** True if the start has ended. */
export function isStarted({ phase }: Host): boolean {
  return phase !== "new" && phase !== "starting";
}

/** Typed state of one feature for each application, made when it is first read. */
export function perHost<State>(make: (host: Host) => State): (host: Host) => State {
  const states = new WeakMap<Host, State>();
  return (host) => {
    let state = states.get(host);
    if (state === undefined) states.set(host, (state = make(host)));
    return state;
  };
}
