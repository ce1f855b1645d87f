import type { ConfigOf } from "../../internal/config-of.js";
import { addSnakeNames, type EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { parsePattern } from "../../routing/pattern.js";

export interface HealthOptions {
  /** The path of the full report; the probes are below it. Default "/health". */
  readonly basePath?: string;
  /** Adds details of the machine and the process to reports. Default false. */
  readonly includeSystemInfo?: boolean;
  /** The application's version, shown in the reports. */
  readonly version?: string;
  /** Seconds for which the outcome of a check is cached. Default 0. */
  readonly cacheSeconds?: number;
}

const checks: Checks<HealthOptions> = {
  basePath: is.path,
  includeSystemInfo: is.boolean,
  version: is.text,
  cacheSeconds: is.number(0),
};

type Given = [basePathOrOptions?: string | EitherSpelling<HealthOptions>, includeSystemInfo?: boolean];

class BaseConfig {
  readonly version: string | undefined;
  readonly #basePath: string;
  readonly #includeSystemInfo: boolean;
  readonly #cacheSeconds: number;

  constructor(...given: Given) {
    const order = ["basePath", "includeSystemInfo"] as const;
    const options = readCall<HealthOptions>("HealthCheckConfig", given, order, checks);
    this.#basePath = readBasePath(options.basePath ?? "/health");
    this.#includeSystemInfo = options.includeSystemInfo ?? false;
    this.#cacheSeconds = options.cacheSeconds ?? 0;
    this.version = options.version;
  }

  get basePath(): string {
    return this.#basePath;
  }

  get includeSystemInfo(): boolean {
    return this.#includeSystemInfo;
  }

  get cacheSeconds(): number {
    return this.#cacheSeconds;
  }
}

/** Paths and contents of the health endpoints. */
export class HealthCheckConfig extends BaseConfig {
  /** Takes a config, its fields, or positional arguments. */
  static from(given: readonly unknown[]): HealthCheckConfig {
    return given[0] instanceof HealthCheckConfig ? given[0] : new HealthCheckConfig(...(given as Given));
  }
}
export interface HealthCheckConfig extends ConfigOf<"HealthCheckConfig"> {
  readonly base_path: string;
  readonly include_system_info: boolean;
  readonly cache_seconds: number;
}
addSnakeNames(BaseConfig.prototype, ["basePath", "includeSystemInfo", "cacheSeconds"]);

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
