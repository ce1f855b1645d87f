import { type App, hostOf } from "../app/app.js";

/** Settings of an application under test. By default it behaves as under `app.fetch`. */
export interface TestSettings {
  /** True shows the details of errors to the client. */
  readonly debug?: boolean;
  /** Seconds a handler may take before 504. */
  readonly requestTimeout?: number;
}

export function configure(app: App, { debug, requestTimeout }: TestSettings): void {
  if (debug === undefined && requestTimeout === undefined) return;
  hostOf(app).configure({
    env: debug ? "development" : "production",
    debug: debug ?? false,
    logs: false,
    requestTimeout: requestTimeout ?? 30,
    workers: 1,
  });
}
