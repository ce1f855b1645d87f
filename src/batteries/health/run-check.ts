import { describeError } from "../../errors/describe.js";
import { show } from "../../kit/options.js";
import { within } from "../../kit/time/within.js";
import { ValueError } from "../../kit/value-error.js";
import { hideUrlPasswords } from "../../logging/secrets.js";
import type { CheckOutcome, CheckSettings, HealthResult, HealthStatus, RegisteredCheck } from "./check.js";

const runs = new WeakMap<RegisteredCheck, CheckRuns>();

/**
 * Runs a check, unless it runs already or has been run just now. Never rejects, never hangs. With `patience`, milliseconds, it
 * resolves to the last outcome if the check takes longer than that.
 */
export function runCheck(check: RegisteredCheck, settings: CheckSettings, patience?: number): Promise<CheckOutcome> {
  let known = runs.get(check);
  if (known === undefined) runs.set(check, (known = new CheckRuns(check)));
  const outcome = known.run(settings);
  const { last } = known;
  return patience === undefined ? outcome : within(outcome, patience, () => last ?? notKnown);
}

const notKnown: CheckOutcome = { status: "DOWN", duration_ms: 0, message: "no result yet" };

/** State that one run of a check leaves to the next. */
class CheckRuns {
  #running: Promise<CheckOutcome> | null = null;
  #last: { readonly outcome: CheckOutcome; readonly at: number } | null = null;
  #status: HealthStatus = "UP";

  constructor(private readonly registered: RegisteredCheck) {}

  get last(): CheckOutcome | undefined {
    return this.#last?.outcome;
  }

  run(settings: CheckSettings): Promise<CheckOutcome> {
    const last = this.#last;
    if (last !== null && performance.now() - last.at < settings.cacheSeconds * 1000)
      return Promise.resolve(last.outcome);
    this.#running ??= this.#run(settings).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #run(settings: CheckSettings): Promise<CheckOutcome> {
    const start = performance.now();
    let status: HealthStatus;
    let message: string | undefined;
    let thrown: unknown;
    try {
      ({ status, message } = readResult(this.registered.name, await this.#bounded()));
    } catch (error) {
      thrown = error;
      status = "DOWN";
      message = error instanceof TimeUp || settings.showErrors ? describeError(error).message : "the check failed";
    }
    const outcome: CheckOutcome = {
      status,
      duration_ms: Math.round((performance.now() - start) * 1000) / 1000,
      ...(message !== undefined && { message: hideUrlPasswords(message) }),
    };
    this.#last = { outcome, at: performance.now() };
    if (status !== this.#status) settings.onChange(this.registered.name, outcome, thrown);
    this.#status = status;
    return outcome;
  }

  #bounded(): Promise<HealthResult> {
    const { check, timeout } = this.registered;
    const abort = new AbortController();
    const late = (): never => {
      const error = new TimeUp(`no result within ${timeout} s`);
      abort.abort(error);
      throw error;
    };
    // Inside a promise, a synchronous throw is a rejection too.
    return within(
      Promise.resolve().then(() => check({ signal: abort.signal })),
      timeout * 1000,
      late,
    );
  }
}

class TimeUp extends Error {}

const statuses: readonly unknown[] = ["UP", "DOWN", "DEGRADED"];

function readResult(name: string, result: HealthResult): { status: HealthStatus; message?: string } {
  if (result === undefined || result === true) return { status: "UP" };
  if (result === false) return { status: "DOWN" };
  const given = typeof result === "string" ? { status: result } : result;
  if (typeof given !== "object" || given === null || !statuses.includes(given.status)) {
    throw new ValueError(`the health check '${name}' gave ${show(result)}, which is no status`);
  }
  return { status: given.status, ...(given.message !== undefined && { message: String(given.message) }) };
}
