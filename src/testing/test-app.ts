import { type App, hostOf } from "../app/app.js";
import { switchRateLimitsOff } from "../batteries/rate-limit/feature.js";
import { type OptionsOf, option } from "../kit/config.js";
import { is } from "../kit/options.js";
import { seconds } from "../kit/time/duration.js";
import { ValueError } from "../kit/value-error.js";

export const testFields = {
  /** True shows the details of errors to the client. Default false. */
  debug: option(is.boolean),
  /** Time that a handler may take before 504. Default 30 seconds. */
  requestTimeout: option.duration(null),
  /** False turns off the rate limits of the application and of its routes. Default true. */
  rateLimits: option(is.boolean, true),
};

/** Settings of an application under test. By default it behaves as under `app.fetch`. */
export interface TestSettings extends OptionsOf<typeof testFields> {}

export function configure(app: App, { debug, requestTimeout, rateLimits = true }: TestSettings): void {
  if (!rateLimits) {
    if (hostOf(app).phase !== "new")
      throw new ValueError("rateLimits: false comes too late: the application has been started");
    switchRateLimitsOff(hostOf(app));
  }
  if (debug === undefined && requestTimeout === undefined) return;
  hostOf(app).configure({
    env: debug ? "development" : "production",
    debug: debug ?? false,
    logs: false,
    requestTimeout: seconds(requestTimeout ?? "30s"),
    workers: 1,
  });
}
