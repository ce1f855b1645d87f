import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";
import { joinPaths } from "../../routing/pattern.js";
import { listenForSilentWorkers, silentWorkers } from "../../server/process/silent-workers.js";
import { startedRooms } from "../rooms/feature.js";
import type { CheckSettings, HealthCheck, HealthCheckOptions, HealthProbe, HealthResult } from "./check.js";
import { HealthCheckConfig, type HealthOptions } from "./config.js";
import { HealthChecks } from "./health-checks.js";
import type { Machines } from "./machines.js";
import type { HealthReport } from "./report.js";

export interface HealthFeature {
  /** Serves health probes below a path, `/health` by default: `/live`, `/ready`, `/startup`, and a full report there. */
  enableHealthChecks(
    basePathOrOptions?: string | ConfigOf<"HealthCheckConfig"> | EitherSpelling<HealthOptions> | null,
    includeSystemInfo?: boolean,
  ): this;
  /** Adds a check to readiness and to the report. It fails if it throws or returns false. */
  healthCheck(name: string, check: HealthCheck, options?: HealthCheckOptions): this;
}

interface State {
  readonly checks: HealthChecks;
  config: HealthCheckConfig | null;
  /** Set where there is a page of the machines. */
  machines: Machines | null;
}

const stateOf = perHost((): State => ({ checks: new HealthChecks(), config: null, machines: null }));

export const healthFeature = feature<HealthFeature>({
  name: "health checks",
  setup: {
    enableHealthChecks(host, ...given) {
      stateOf(host).config = HealthCheckConfig.from(given);
    },
    healthCheck(host, name, check, options) {
      registerHealthCheck(host, name, check, options);
    },
  },
  late: ["healthCheck"],
  async prepare(host) {
    const { config, checks } = stateOf(host);
    if (config === null) return;
    if (host.settings.workers > 1) {
      listenForSilentWorkers();
      checks.add("workers", workersHealth);
    }
    const { healthReport, healthResponse } = await import("./report.js");
    const settings = settingsOf(host, config.cacheSeconds);
    const add = (path: string, probe: HealthProbe | null): void =>
      host.route({
        path: joinPaths(config.basePath, path),
        options: { etag: false, timeout: 0 },
        // Probes cannot log in and must not be limited.
        internal: true,
        handler: async () => healthResponse(await healthReport(probe, host.phase, checks, config, settings)),
      });
    add("/", null);
    add("/live", "live");
    add("/ready", "ready");
    add("/startup", "startup");
    if (config.admin === undefined) return;
    const [{ addMachinePage }, { Machines }] = await Promise.all([import("./page.js"), import("./machines.js")]);
    const machines = (stateOf(host).machines = new Machines(await startedRooms(host), config.version, host.logger));
    addMachinePage(host, config.admin, machines, () => healthReport(null, host.phase, checks, config, settings));
  },
  async ready(host) {
    const { config, checks, machines } = stateOf(host);
    const names = [...checks].map(({ name }) => name);
    const unknown = config?.optional.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new ValueError(
        `option 'optional' in HealthCheckConfig names '${unknown}', which is no check: there are ${names.join(", ")}`,
      );
    }
    if (machines === null) return;
    const { drainMachine } = await import("./page.js");
    machines.begin(() => drainMachine(host));
  },
  drain: (host) => stateOf(host).machines?.end(),
});

/** Adds a check of a feature: of an engine, of circuits. It runs only where health checks are enabled. */
export function registerHealthCheck(host: Host, name: string, check: HealthCheck, options?: HealthCheckOptions): void {
  stateOf(host).checks.add(name, check, options);
}

/** The full report, as the endpoint gives it; null where there are no checks. */
export function currentHealth(host: Host): Promise<HealthReport> | null {
  const { checks, config } = stateOf(host);
  if (config === null && checks.size === 0) return null;
  const settings = settingsOf(host, 1);
  return import("./report.js").then(({ healthReport }) =>
    healthReport(null, host.phase, checks, config ?? new HealthCheckConfig(), settings),
  );
}

/** The other workers still serve, so the application is DEGRADED, not DOWN. The silent worker itself cannot report it. */
function workersHealth(): HealthResult {
  const { length } = silentWorkers();
  if (length === 0) return "UP";
  return { status: "DEGRADED", message: `${length} ${length === 1 ? "worker does" : "workers do"} not respond` };
}

function settingsOf(host: Host, cacheSeconds: number): CheckSettings {
  return {
    cacheSeconds,
    showErrors: host.env === "development",
    name: host.settings.name,
    transport: host.settings.transport,
    onChange: (name, { status, message }, error) => {
      if (status === "UP") host.logger.info(`health: ${name} is well again`);
      else host.logger.warn(`health: ${name} is ${status}`, error === undefined ? { message } : { error });
    },
  };
}
