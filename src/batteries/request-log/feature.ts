import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type RequestLogOptions, requestLogger, requestLogOptions } from "./request-log.js";

export interface LoggingFeature {
  /** Logs method, path, status, latency and time of every request. */
  enableLogging(options?: EitherSpelling<RequestLogOptions>): this;
}

const stateOf = perHost((): { options: RequestLogOptions | null } => ({ options: null }));

export const loggingFeature = feature<LoggingFeature>({
  name: "request log",
  setup: {
    enableLogging(host, ...given) {
      stateOf(host).options = requestLogOptions.read(given);
    },
  },
  // Requests may be logged without `enableLogging()`: the options of `run` and the command line decide too.
  prepare(host) {
    const { options } = stateOf(host);
    if (!(host.settings.logs ?? options !== null)) return;
    host.use({ slot: "logging", ...requestLogger(options ?? {}, host.logger) });
  },
});
