import { ValueError } from "../errors/value-error.js";
import { show } from "../internal/options.js";
import {
  type CheckOutcome,
  type CheckSettings,
  type HealthCheck,
  type HealthProbe,
  type HealthStatus,
  RegisteredCheck,
} from "./check.js";

/** Where the application stands, as its own check. */
export const lifecycleCheck = "application";

export interface ChecksOutcome {
  readonly status: HealthStatus;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
}

/** The health checks of an application. */
export class HealthChecks {
  readonly #checks = new Map<string, RegisteredCheck>();

  get size(): number {
    return this.#checks.size;
  }

  add(name: string, check: HealthCheck, options?: unknown): void {
    if (typeof name !== "string" || name === "") throw new ValueError("healthCheck() takes a name first");
    if (typeof check !== "function") throw new ValueError(`healthCheck() takes a function second, not ${show(check)}`);
    if (this.#checks.has(name) || name === lifecycleCheck)
      throw new ValueError(`there is a health check '${name}' already`);
    this.#checks.set(name, new RegisteredCheck(name, check, options));
  }

  /** Runs the checks of a probe, or all of them, side by side. Takes no longer than the most patient of them. */
  async run(probe: HealthProbe | null, settings: CheckSettings): Promise<ChecksOutcome> {
    const asked = [...this.#checks.values()].filter(({ on }) => probe === null || on.includes(probe));
    const outcomes = await Promise.all(asked.map((check) => check.run(settings)));
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
}

export function worse(a: HealthStatus, b: HealthStatus): HealthStatus {
  if (a === "DOWN" || b === "DOWN") return "DOWN";
  return a === "DEGRADED" || b === "DEGRADED" ? "DEGRADED" : "UP";
}
