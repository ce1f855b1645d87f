import { adminOption } from "../../console/options.js";
import { config, type OptionsOf, option } from "../../kit/config.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { parsePattern } from "../../routing/pattern.js";

/** Paths and contents of the health endpoints. */
export class HealthCheckConfig extends config(
  "HealthCheckConfig",
  {
    /** The path of the full report; the probes are below it. Default "/health". */
    basePath: option.made(is.path, readBasePath, "/health"),
    /** Adds details of the machine and the process to reports. Default false. */
    includeSystemInfo: option(is.boolean, false),
    /** The application's version, shown in the reports. */
    version: option(is.text),
    /** Time for which the outcome of a check is cached. Default 0. */
    cacheSeconds: option.duration(0),
    /** Names of checks that the application works without: it is then DEGRADED, not DOWN. Default none. */
    optional: option(is.list<string>(is.text), []),
    /** Serves the page of the machine, by default at "/_machine". Outside of development it needs `guards`. */
    admin: adminOption("/_machine"),
  },
  { order: ["basePath", "includeSystemInfo"] },
) {}

export interface HealthOptions extends OptionsOf<typeof HealthCheckConfig.options.fields> {}

/** Without a slash at its end, but for the root's. */
function readBasePath(given: string): string {
  const path = given.length > 1 && given.endsWith("/") ? given.slice(0, -1) : given;
  if (parsePattern(path).paramNames.length > 0) {
    throw new ValueError(
      `option 'basePath' in HealthCheckConfig must be a path without parameters, not ${show(given)}`,
    );
  }
  return path;
}
