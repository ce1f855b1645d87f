import type { Phase } from "../../feature/host.js";
import { Response } from "../../http/response.js";
import { nodeOs } from "../../kit/node-modules.js";
import { transportName } from "../../server/choose-transport.js";
import type { CheckOutcome, CheckSettings, HealthProbe, HealthStatus, RegisteredCheck } from "./check.js";
import type { HealthCheckConfig } from "./config.js";
import { type HealthChecks, lifecycleCheck } from "./health-checks.js";
import { runCheck } from "./run-check.js";

export interface HealthReport {
  readonly status: HealthStatus;
  readonly timestamp: string;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
  readonly uptime_seconds: number;
  /** The transport that serves. */
  readonly transport?: string;
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
  const asked: ChecksOutcome = skip ? { status: "DOWN", checks: {} } : await runChecks(checks, probe, config, settings);
  return {
    status: own ? worse(own.status, asked.status) : asked.status,
    timestamp: new Date().toISOString(),
    checks: own ? { [lifecycleCheck]: own, ...asked.checks } : asked.checks,
    uptime_seconds: Math.round(process.uptime() * 1000) / 1000,
    ...(settings.transport !== undefined && { transport: transportName(settings.transport) }),
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

interface ChecksOutcome {
  readonly status: HealthStatus;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
}

/** Milliseconds that a probe waits for a check that cannot make it fail: balancers give a probe up after a second or two. */
const optionalPatience = 500;

/** Runs the checks of a probe, or all of them, in parallel. Takes no longer than the longest timeout. */
async function runChecks(
  registered: Iterable<RegisteredCheck>,
  probe: HealthProbe | null,
  { optional }: HealthCheckConfig,
  settings: CheckSettings,
): Promise<ChecksOutcome> {
  const asked = [...registered].filter(({ on }) => probe === null || on.includes(probe));
  const isOptional = ({ critical, name }: RegisteredCheck): boolean => !critical || optional.includes(name);
  const patienceFor = (check: RegisteredCheck): number | undefined =>
    probe !== null && isOptional(check) ? optionalPatience : undefined;
  const outcomes = await Promise.all(asked.map((check) => runCheck(check, settings, patienceFor(check))));
  // Names are the application's; `__proto__` is a name like any other.
  const checks: Record<string, CheckOutcome> = Object.create(null);
  let status: HealthStatus = "UP";
  for (const [i, check] of asked.entries()) {
    const outcome = outcomes[i]!;
    checks[check.name] = outcome;
    status = worse(status, outcome.status === "DOWN" && isOptional(check) ? "DEGRADED" : outcome.status);
  }
  return { status, checks };
}

function worse(a: HealthStatus, b: HealthStatus): HealthStatus {
  if (a === "DOWN" || b === "DOWN") return "DOWN";
  return a === "DEGRADED" || b === "DEGRADED" ? "DEGRADED" : "UP";
}

/** The machine and the process, in a few numbers. */
function systemInfo(): Record<string, unknown> {
  const { arch, availableParallelism, freemem, hostname, loadavg, platform, totalmem } = nodeOs();
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  return {
    hostname: hostname(),
    platform: platform(),
    arch: arch(),
    node_version: process.version,
    pid: process.pid,
    cpus: availableParallelism(),
    load_average: loadavg(),
    memory: {
      rss_bytes: rss,
      heap_used_bytes: heapUsed,
      heap_total_bytes: heapTotal,
      system_total_bytes: totalmem(),
      system_free_bytes: freemem(),
    },
  };
}
