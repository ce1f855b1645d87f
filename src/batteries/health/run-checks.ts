import type { CheckOutcome, CheckSettings, HealthProbe, HealthStatus, RegisteredCheck } from "./check.js";
import { runCheck } from "./run-check.js";

export interface ChecksOutcome {
  readonly status: HealthStatus;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
}

/** Runs the checks of a probe, or all of them, in parallel. Takes no longer than the longest timeout. */
export async function runChecks(
  registered: Iterable<RegisteredCheck>,
  probe: HealthProbe | null,
  settings: CheckSettings,
): Promise<ChecksOutcome> {
  const asked = [...registered].filter(({ on }) => probe === null || on.includes(probe));
  const outcomes = await Promise.all(asked.map((check) => runCheck(check, settings)));
  // Names are the application's; `__proto__` is a name like any other.
  const checks: Record<string, CheckOutcome> = Object.create(null);
  let status: HealthStatus = "UP";
  for (const [i, { name, critical }] of asked.entries()) {
    const outcome = outcomes[i]!;
    checks[name] = outcome;
    status = worse(status, outcome.status === "DOWN" && !critical ? "DEGRADED" : outcome.status);
  }
  return { status, checks };
}

export function worse(a: HealthStatus, b: HealthStatus): HealthStatus {
  if (a === "DOWN" || b === "DOWN") return "DOWN";
  return a === "DEGRADED" || b === "DEGRADED" ? "DEGRADED" : "UP";
}
