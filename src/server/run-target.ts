import type { Logger } from "../internal/logger.js";
import type { Dispatch } from "./transport.js";

/** How a server was asked to behave, as far as the application cares. */
export interface RunSettings {
  readonly env: "development" | "production";
  readonly debug: boolean;
  /** Whether each request is logged; undefined when nobody said: then when the application enabled it. */
  readonly logs: boolean | undefined;
  /** Seconds a handler may take before 504. */
  readonly requestTimeout: number;
  /** Worker processes that serve the same address. */
  readonly workers: number;
  /** The host that the server binds to; undefined where `run` does not serve: under `fetch` and in tests. */
  readonly host?: string;
}

/** What is served: the application, as the server sees it. */
export interface RunTarget {
  readonly dispatch: Dispatch;
  readonly logger: Logger;
  /** Called once, before `start`. */
  configure(settings: RunSettings): void;
  /** Freezes the routes and runs the startup hooks; rejects when one fails. */
  start(): Promise<void>;
  /** The server has begun to drain: not ready any more, open WebSockets are closed with 1001. */
  beginDrain(): void;
  /** Runs the shutdown hooks in reverse, each one even when another fails. False when one has failed. */
  stop(): Promise<boolean | void>;
  /** Lines to show below the address once the server listens: `["Docs", "/docs"]`. */
  links(): readonly (readonly [label: string, path: string])[];
}
