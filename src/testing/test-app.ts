import { type App, hostOf } from "../app/app.js";
import { type Duration, seconds } from "../kit/duration.js";

/** Settings of an application under test. By default it behaves as under `app.fetch`. */
export interface TestSettings {
  /** True shows the details of errors to the client. */
  readonly debug?: boolean;
  /** Time that a handler may take before 504. Default 30 seconds. */
  readonly requestTimeout?: Duration;
}

export function configure(app: App, { debug, requestTimeout }: TestSettings): void {
  if (debug === undefined && requestTimeout === undefined) return;
  hostOf(app).configure({
    env: debug ? "development" : "production",
    debug: debug ?? false,
    logs: false,
    requestTimeout: seconds(requestTimeout ?? "30s"),
    workers: 1,
  });
}
