import { Response } from "../../http/response.js";
import type { CheckOutcome, CheckSettings, HealthProbe, HealthStatus } from "./check.js";
import type { HealthCheckConfig } from "./config.js";
import { type HealthChecks, lifecycleCheck } from "./health-checks.js";
import { type ChecksOutcome, runChecks, worse } from "./run-checks.js";
import { systemInfo } from "./system-info.js";

/** The stage of the application between its start and its end. */
export type Phase = "new" | "starting" | "started" | "draining" | "stopped";

export interface HealthReport {
  readonly status: HealthStatus;
  readonly timestamp: string;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
  readonly uptime_seconds: number;
  readonly name?: string;
  readonly version?: string;
  readonly system?: Record<string, unknown>;
}

/** The report for a probe, or the full report (`null`). */
export async function healthReport(
  probe: HealthProbe | null,
  phase: Phase,
  checks: HealthChecks,
  config: HealthCheckConfig,
  settings: CheckSettings,
): Promise<HealthReport> {
  const own = lifecycleOutcome(probe, phase);
  // An application that ends reports it without waiting for a database.
  const skip = own?.status === "DOWN" && probe !== null;
  const asked: ChecksOutcome = skip ? { status: "DOWN", checks: {} } : await runChecks(checks, probe, settings);
  return {
    status: own ? worse(own.status, asked.status) : asked.status,
    timestamp: new Date().toISOString(),
    checks: own ? { [lifecycleCheck]: own, ...asked.checks } : asked.checks,
    uptime_seconds: Math.round(process.uptime() * 1000) / 1000,
    ...(settings.name !== undefined && { name: settings.name }),
    ...(config.version !== undefined && { version: config.version }),
    ...(config.includeSystemInfo && probe === null && { system: systemInfo() }),
  };
}

/** DEGRADED gets 200: the application still serves, and a probe must not remove it. */
export function healthResponse(report: HealthReport): Response {
  const response = Response.json(report, report.status === "DOWN" ? 503 : 200);
  response.addField("Cache-Control", "no-store");
  return response;
}

/** Liveness does not depend on it: an application that starts or drains must not be killed. */
function lifecycleOutcome(probe: HealthProbe | null, phase: Phase): CheckOutcome | null {
  if (probe === "live") return null;
  const starting = phase === "new" || phase === "starting";
  const ending = phase === "draining" || phase === "stopped";
  const up = probe === "startup" ? !starting : !starting && !ending;
  return {
    status: up ? "UP" : "DOWN",
    duration_ms: 0,
    ...(!up && { message: starting ? "the application is starting" : "the application is shutting down" }),
  };
}
