import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import { type RequestLogOptions, requestLogger } from "./request-log.js";

export interface LoggingFeature {
  /** Logs method, path, status, latency and time of every request. */
  enableLogging(options?: RequestLogOptions): this;
}

const stateOf = perHost((): { options: RequestLogOptions | null } => ({ options: null }));

export const loggingFeature = feature<LoggingFeature>({
  name: "request log",
  setup: {
    enableLogging(host, options = {}) {
      requestLogger(options); // Checks the options now, where the mistake was made.
      stateOf(host).options = options;
    },
  },
  // Requests may be logged without `enableLogging()`: the options of `run` and the command line decide too.
  prepare(host) {
    const { options } = stateOf(host);
    if (!(host.settings.logs ?? options !== null)) return;
    host.use({ slot: "logging", ...requestLogger(options ?? {}, host.logger) });
  },
});
