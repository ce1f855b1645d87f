import { type FeatureHost, type FeatureMethods, slot } from "../../feature/feature.js";
import { type RequestLogOptions, requestLogger } from "./request-log.js";

export interface LoggingFeature {
  /** Logs method, path, status, latency and time of every request. */
  enableLogging(options?: RequestLogOptions): this;
}

export const loggingFeature: FeatureMethods<LoggingFeature> = {
  enableLogging(options = {}) {
    this.assertOpen("enableLogging()");
    requestLogger(options); // checks the options now, where a mistake was made
    slot(this, loggingFeature, () => ({ options })).options = options;
    return this;
  },
};

/** Whether requests are logged is known only when the application starts: `run` and its arguments have a say. */
export function startLogging(host: FeatureHost): void {
  const enabled = host.slots.get(loggingFeature) as { options: RequestLogOptions } | undefined;
  if (!(host.settings.logs ?? enabled !== undefined)) return;
  const format = host.env === "production" ? "json" : undefined;
  host.addFeature({ slot: "logging", ...requestLogger({ format, ...enabled?.options }) });
}
