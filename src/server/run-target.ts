import type { Logger } from "../kit/logger.js";
import type { ChosenTransport } from "./choose-transport.js";
import type { Dispatch } from "./transport.js";
import type { HubServices } from "./worker-messages/service.js";

/** The settings of a run that the application uses. */
export interface RunSettings {
  readonly env: "development" | "production";
  readonly debug: boolean;
  /** True if each request is logged; undefined if not given: then the application decides. */
  readonly logs: boolean | undefined;
  /** Seconds a handler may take before 504. */
  readonly requestTimeout: number;
  /** The most issues that validation reports for one request; undefined for the default. */
  readonly validateLimit?: number;
  /** Worker processes that serve the same address. */
  readonly workers: number;
  /** The host that the server binds to; undefined where `run` does not serve: under `fetch` and in tests. */
  readonly host?: string;
  /** The transport that serves; undefined where `run` does not. */
  readonly transport?: ChosenTransport;
  /** Bytes of bodies that the server reads into memory at once; undefined where `run` does not serve. */
  readonly maxBodyMemory?: number;
  /** A sentence for each option of `run` that has no effect. */
  readonly idle?: readonly string[];
  /** The name of the application, if it was given one. */
  readonly name?: string;
}

/** Follows the routes that run. */
export interface RouteWatch {
  /** The route's pipeline, watched. `refuse` gives the response while the route is refused. */
  around(name: string, run: Dispatch, refuse: Dispatch): Dispatch;
}

/** Keeps embedded databases open for the processes of a reloader. */
export interface Keeper {
  /** Opens the database in a folder, once. Resolves to the socket at which it is served. */
  open(folder: string): Promise<string>;
  close(): Promise<void>;
}

/** The application, as the server sees it. */
export interface RunTarget {
  readonly dispatch: Dispatch;
  readonly logger: Logger;
  /** Called with the code of each request that the transport refuses before the application sees it; for metrics. */
  refused?(code: string): void;
  /** Called once, before `start`. */
  configure(settings: RunSettings): void;
  /** Called before `start` in a worker: every route is to be wrapped. */
  watchRoutes?(watch: RouteWatch): void;
  /** Freezes the routes and runs the startup hooks; rejects when one fails. */
  start(): Promise<void>;
  /** The server will drain soon: not ready any more. */
  announceDrain?(): void;
  /** The server has begun to drain: not ready any more, open WebSockets are closed with 1001, or 1012 if another takes over. */
  beginDrain(replaced?: boolean): void;
  /** Runs the shutdown hooks in reverse, each one even when another fails. False when one has failed. */
  stop(): Promise<boolean | void>;
  /** Loads the state that a supervisor keeps for all its workers. Called in the supervisor, when one needs it. */
  services?(): Promise<HubServices>;
  /** Loads the keeper of embedded databases. Called in a reloader, when its child has one. */
  keeper?(): Promise<Keeper>;
  /** Lines to show below the address once the server listens: `["Docs", "/docs"]`. */
  links(): readonly (readonly [label: string, path: string])[];
}
