import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { ChosenTransport } from "../../server/choose-transport.js";

export type HealthStatus = "UP" | "DOWN" | "DEGRADED";

/** The probes that a check can belong to; the full report has all checks. */
export type HealthProbe = "live" | "ready" | "startup";

/** The result of a check: nothing or true is UP, false is DOWN. */
export type HealthResult = boolean | void | HealthStatus | { readonly status: HealthStatus; readonly message?: string };

/** Checks one part of the application. If it throws, the part is DOWN. The signal is aborted when its time is up. */
export type HealthCheck = (context: { readonly signal: AbortSignal }) => HealthResult | Promise<HealthResult>;

const checkOptions = options("a health check", {
  /** Time after which it is DOWN. Default 3 seconds. */
  timeout: option.duration("3s", "1ms", "10m"),
  /** False if the application works without this part: it is then DEGRADED, not DOWN. Default true. */
  critical: option(is.boolean, true),
  /** The probes that run it. Default `["ready"]`. */
  on: option(is.list<HealthProbe>(is.oneOf("live", "ready", "startup")), ["ready"]),
});

export interface HealthCheckOptions extends OptionsOf<typeof checkOptions.fields> {}

export interface CheckOutcome {
  readonly status: HealthStatus;
  readonly duration_ms: number;
  readonly message?: string;
}

/** Settings of all checks. */
export interface CheckSettings {
  /** Seconds for which an outcome is cached. */
  readonly cacheSeconds: number;
  /** True if the errors of checks may be shown: a message may hold an address, a name or a query. */
  readonly showErrors: boolean;
  /** The name of the application, for the report. */
  readonly name?: string | undefined;
  /** The transport that serves, for the report. */
  readonly transport?: ChosenTransport | undefined;
  /** Called when a check starts to fail, and when it passes again. */
  readonly onChange: (name: string, outcome: CheckOutcome, error: unknown) => void;
}

/** A check as it was registered. */
export interface RegisteredCheck extends SettingsOf<typeof checkOptions.fields> {
  readonly name: string;
  readonly check: HealthCheck;
}

export function registeredCheck(name: string, check: HealthCheck, given: unknown): RegisteredCheck {
  return { ...checkOptions.read([given], `the health check '${name}'`), name, check };
}
