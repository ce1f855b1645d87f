import { describeError } from "../errors/describe.js";
import { ValueError } from "../errors/value-error.js";
import { type Checks, is, readOptions, show } from "../internal/options.js";
import { hideUrlPasswords } from "../logging/secrets.js";

export type HealthStatus = "UP" | "DOWN" | "DEGRADED";

/** The probes that a check can belong to; the full report has all checks. */
export type HealthProbe = "live" | "ready" | "startup";

/** What a check says: nothing or true is UP, false is DOWN. */
export type HealthResult = boolean | void | HealthStatus | { readonly status: HealthStatus; readonly message?: string };

/** Looks after one thing. What it throws is DOWN; the signal is aborted when its time is up. */
export type HealthCheck = (context: { readonly signal: AbortSignal }) => HealthResult | Promise<HealthResult>;

export interface HealthCheckOptions {
  /** Seconds after which it is DOWN. Default 3. */
  readonly timeout?: number;
  /** Whether the application cannot do without it: false makes it DEGRADED where this one is DOWN. Default true. */
  readonly critical?: boolean;
  /** The probes that ask it. Default `["ready"]`. */
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

/** How checks are run, whichever they are. */
export interface CheckSettings {
  /** Seconds for which an outcome is given again. */
  readonly cacheSeconds: number;
  /** Whether what a check throws may be shown: a message may hold an address, a name, a query. */
  readonly showErrors: boolean;
  /** Told when a check fails that did not before, and when it is well again. */
  readonly onChange: (name: string, outcome: CheckOutcome, error: unknown) => void;
}

/** A check as it was registered. */
export class RegisteredCheck {
  readonly name: string;
  readonly critical: boolean;
  readonly on: readonly HealthProbe[];
  readonly #check: HealthCheck;
  readonly #timeout: number;
  #running: Promise<CheckOutcome> | null = null;
  #last: { readonly outcome: CheckOutcome; readonly at: number } | null = null;
  #status: HealthStatus = "UP";

  constructor(name: string, check: HealthCheck, options: unknown) {
    const given = readOptions<HealthCheckOptions>(`the health check '${name}'`, options, checks);
    this.name = name;
    this.#check = check;
    this.#timeout = given.timeout ?? 3;
    this.critical = given.critical ?? true;
    this.on = given.on ?? ["ready"];
  }

  /** Runs it, unless it runs already or has been run just now. Never rejects, never hangs. */
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
      ({ status, message } = readResult(this.name, await this.#bounded()));
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
    if (status !== this.#status) settings.onChange(this.name, outcome, thrown);
    this.#status = status;
    return outcome;
  }

  #bounded(): Promise<HealthResult> {
    const abort = new AbortController();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const error = new TimeUp(`it did not answer within ${this.#timeout} s`);
        reject(error);
        abort.abort(error);
      }, this.#timeout * 1000);
      // Inside a promise what it throws at once is a rejection too.
      const answer = Promise.resolve().then(() => this.#check({ signal: abort.signal }));
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
    });
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
