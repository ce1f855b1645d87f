import type { Logger } from "../internal/logger.js";
import type { RunSettings } from "../server/run-target.js";
import type { Dispatch } from "../server/transport.js";

/** An application, as far as tests need to know it. */
export interface TestApp {
  readonly dispatch: Dispatch;
  readonly logger: Logger;
  fetch(request: globalThis.Request): Promise<globalThis.Response>;
  start(): Promise<void>;
  beginDrain(): void;
  stop(): Promise<void>;
  override(name: string, value: unknown): () => void;
  configure(settings: RunSettings): void;
}

/** How the application shall behave; left out, as one that nobody has run: see `app.fetch`. */
export interface TestSettings {
  /** True if clients can see errors. */
  readonly debug?: boolean;
  /** Seconds a handler may take before 504. */
  readonly requestTimeout?: number;
}

export function configure(app: TestApp, { debug, requestTimeout }: TestSettings): void {
  if (debug === undefined && requestTimeout === undefined) return;
  app.configure({
    env: debug ? "development" : "production",
    debug: debug ?? false,
    logs: false,
    requestTimeout: requestTimeout ?? 30,
    workers: 1,
  });
}
