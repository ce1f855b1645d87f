import { type Checks, is, readOptions } from "../../internal/options.js";

export type HealthStatus = "UP" | "DOWN" | "DEGRADED";

/** The probes that a check can belong to; the full report has all checks. */
export type HealthProbe = "live" | "ready" | "startup";

/** The result of a check: nothing or true is UP, false is DOWN. */
export type HealthResult = boolean | void | HealthStatus | { readonly status: HealthStatus; readonly message?: string };

/** Checks one part of the application. If it throws, the part is DOWN. The signal is aborted when its time is up. */
export type HealthCheck = (context: { readonly signal: AbortSignal }) => HealthResult | Promise<HealthResult>;

export interface HealthCheckOptions {
  /** Seconds after which it is DOWN. Default 3. */
  readonly timeout?: number;
  /** False if the application works without this part: it is then DEGRADED, not DOWN. Default true. */
  readonly critical?: boolean;
  /** The probes that run it. Default `["ready"]`. */
  readonly on?: readonly HealthProbe[];
}

export interface CheckOutcome {
  readonly status: HealthStatus;
  readonly duration_ms: number;
  readonly message?: string;
}

const checks: Checks<HealthCheckOptions> = {
  timeout: is.number(0.001, 600),
  critical: is.boolean,
  on: is.list(is.oneOf("live", "ready", "startup")),
};

/** Settings of all checks. */
export interface CheckSettings {
  /** Seconds for which an outcome is cached. */
  readonly cacheSeconds: number;
  /** True if the errors of checks may be shown: a message may hold an address, a name or a query. */
  readonly showErrors: boolean;
  /** The name of the application, for the report. */
  readonly name?: string | undefined;
  /** Called when a check starts to fail, and when it passes again. */
  readonly onChange: (name: string, outcome: CheckOutcome, error: unknown) => void;
}

/** A check as it was registered. */
export interface RegisteredCheck extends Required<HealthCheckOptions> {
  readonly name: string;
  readonly check: HealthCheck;
}

export function registeredCheck(name: string, check: HealthCheck, options: unknown): RegisteredCheck {
  const given = readOptions<HealthCheckOptions>(`the health check '${name}'`, options, checks);
  return { timeout: 3, critical: true, on: ["ready"], ...given, name, check };
}
