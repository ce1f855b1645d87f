import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { type HealthCheck, type RegisteredCheck, registeredCheck } from "./check.js";

/** The stage of the application, as a check. */
export const lifecycleCheck = "application";

/** The health checks of an application. */
export class HealthChecks implements Iterable<RegisteredCheck> {
  readonly #checks = new Map<string, RegisteredCheck>();

  get size(): number {
    return this.#checks.size;
  }

  add(name: string, check: HealthCheck, options?: unknown): void {
    if (typeof name !== "string" || name === "") throw new ValueError("healthCheck() takes a name first");
    if (typeof check !== "function") throw new ValueError(`healthCheck() takes a function second, not ${show(check)}`);
    if (this.#checks.has(name) || name === lifecycleCheck)
      throw new ValueError(`there is a health check '${name}' already`);
    this.#checks.set(name, registeredCheck(name, check, options));
  }

  [Symbol.iterator](): Iterator<RegisteredCheck> {
    return this.#checks.values();
  }
}
