import { type FeatureHost, type FeatureMethods, slot } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { joinPaths } from "../../routing/pattern.js";
import type { CheckSettings, HealthCheck, HealthCheckOptions, HealthProbe } from "./check.js";
import { HealthCheckConfig, type HealthOptions } from "./config.js";
import { HealthChecks } from "./health-checks.js";
import type { HealthReport } from "./report.js";

export interface HealthFeature {
  /** Answers probes below a path, `/health` unless given: `/live`, `/ready` and `/startup`, and a report there. */
  enableHealthChecks(
    ...given:
      | [config?: HealthCheckConfig | EitherSpelling<HealthOptions> | null]
      | [basePath: string, includeSystemInfo?: boolean]
  ): this;
  /** Adds a check to readiness and to the report: it throws, or gives false, when something is wrong. */
  healthCheck(name: string, check: HealthCheck, options?: HealthCheckOptions): this;
}

export const healthFeature: FeatureMethods<HealthFeature> = {
  enableHealthChecks(...given) {
    this.assertOpen("enableHealthChecks()");
    const config = HealthCheckConfig.from(given);
    const enabled = slot(this, healthFeature, () => {
      this.onPrepare(() => acceptRoutes(this, enabled.config));
      return { config };
    });
    enabled.config = config;
    return this;
  },

  healthCheck(name, check, options) {
    registerHealthCheck(this, name, check, options);
    return this;
  },
};

const checksKey = Symbol("health checks");

/** Adds a check of a feature: an engine's, a circuit's. It is asked only where health checks are enabled. */
export function registerHealthCheck(
  host: FeatureHost,
  name: string,
  check: HealthCheck,
  options?: HealthCheckOptions,
): void {
  checksOf(host).add(name, check, options);
}

/** The full report, as the endpoint gives it; null where there is nothing to tell of. */
export function currentHealth(host: FeatureHost): Promise<HealthReport> | null {
  const enabled = host.slots.get(healthFeature) as { config: HealthCheckConfig } | undefined;
  const checks = checksOf(host);
  if (enabled === undefined && checks.size === 0) return null;
  const config = enabled?.config ?? new HealthCheckConfig();
  return import("../../app/features/enabled.js").then(({ healthReport }) =>
    healthReport(null, host.phase, checks, config, settingsOf(host, 1)),
  );
}

function checksOf(host: FeatureHost): HealthChecks {
  return slot(host, checksKey, () => new HealthChecks());
}

function settingsOf(host: FeatureHost, cacheSeconds: number): CheckSettings {
  return {
    cacheSeconds,
    showErrors: host.env === "development",
    onChange: (name, { status, message }, error) => {
      if (status === "UP") host.logger.info(`health: ${name} is well again`);
      else host.logger.warn(`health: ${name} is ${status}`, error === undefined ? { message } : { error });
    },
  };
}

/** Probes cannot log in and must not be limited, so the routes are internal. */
async function acceptRoutes(host: FeatureHost, config: HealthCheckConfig): Promise<void> {
  const { healthReport, healthResponse } = await import("../../app/features/enabled.js");
  const checks = checksOf(host);
  const settings = settingsOf(host, config.cacheSeconds);
  const accept = (path: string, probe: HealthProbe | null): void =>
    host.accept({
      methods: ["GET"],
      path: joinPaths(config.basePath, path),
      websocket: false,
      options: { hidden: true, etag: false, timeout: 0 },
      handler: async () => healthResponse(await healthReport(probe, host.phase, checks, config, settings)),
      scopes: [],
      internal: true,
    });
  accept("/", null);
  accept("/live", "live");
  accept("/ready", "ready");
  accept("/startup", "startup");
}
