import { timeLimit } from "../../../kit/time/time-limit.js";
import type { Connection } from "../connection.js";
import { OperationalError } from "../errors.js";
import type { Execution } from "./execution.js";

interface WaitingCaller {
  readonly since: number;
  readonly give: (connection: Connection) => void;
  readonly refuse: (error: Error) => void;
}

/** The most places of executions that have left before the list is cut. */
const mostGone = 1024;
/** Milliseconds that a timer may come too early by the other clock. */
const timerLead = 2;

/** The line for connections: executions wait for any, callers for one that they have alone. The wait is limited. */
export class WaitingLine {
  readonly #limit: number;
  readonly #reason: () => OperationalError;
  /** From `#first` on; those before have left. */
  #executions: Execution[] = [];
  #first = 0;
  /** One for all executions, since they leave in the order in which they came. */
  #stopTimer: (() => void) | null = null;
  readonly #withdraw = (execution: Execution): void => this.#remove(execution);
  readonly #callers: WaitingCaller[] = [];

  constructor(limit: number, reason: () => OperationalError) {
    this.#limit = limit;
    this.#reason = reason;
  }

  get empty(): boolean {
    return this.#first === this.#executions.length && this.#callers.length === 0;
  }

  get length(): number {
    return this.#executions.length - this.#first + this.#callers.length;
  }

  get callers(): number {
    return this.#callers.length;
  }

  /** True if a caller has waited longest. */
  get nextIsCaller(): boolean {
    const caller = this.#callers[0];
    const execution = this.#executions[this.#first];
    return caller !== undefined && (execution === undefined || caller.since <= execution.waitingSince);
  }

  addExecution(execution: Execution): void {
    execution.waitingSince = performance.now();
    execution.withdraw = this.#withdraw;
    this.#executions.push(execution);
    this.#stopTimer ??= timeLimit(this.#limit, () => this.#abandonLate());
  }

  shiftExecution(): Execution | undefined {
    const execution = this.#executions[this.#first];
    if (execution === undefined) return undefined;
    this.#first++;
    this.#tidy();
    execution.withdraw = null;
    execution.waitedMs = performance.now() - execution.waitingSince;
    return execution;
  }

  #remove(execution: Execution): void {
    const index = this.#executions.indexOf(execution, this.#first);
    if (index !== -1) this.#executions.splice(index, 1);
    this.#tidy();
  }

  #tidy(): void {
    if (this.#first < this.#executions.length) {
      if (this.#first < mostGone) return;
      this.#executions = this.#executions.slice(this.#first);
      this.#first = 0;
      return;
    }
    this.#executions.length = this.#first = 0;
    this.#stopTimer?.();
    this.#stopTimer = null;
  }

  #abandonLate(): void {
    this.#stopTimer = null;
    const now = performance.now();
    const late = this.#executions
      .slice(this.#first)
      .filter((execution) => execution.waitingSince + this.#limit <= now + timerLead);
    for (const execution of late) execution.abandon(this.#reason());
    const next = this.#executions[this.#first];
    if (next !== undefined)
      this.#stopTimer = timeLimit(Math.max(1, next.waitingSince + this.#limit - now), () => this.#abandonLate());
  }

  addCaller(signal?: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        stopTimer();
        signal?.removeEventListener("abort", onAbort);
        remove(this.#callers, entry);
      };
      const refuse = (error: Error): void => {
        leave();
        reject(error);
      };
      const onAbort = (): void => refuse(cancelledError(signal!.reason));
      const entry: WaitingCaller = {
        since: performance.now(),
        give: (connection) => {
          leave();
          resolve(connection);
        },
        refuse,
      };
      const stopTimer = timeLimit(this.#limit, () => refuse(this.#reason()));
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#callers.push(entry);
    });
  }

  shiftCaller(): ((connection: Connection) => void) | undefined {
    return this.#callers[0]?.give;
  }

  refuseAll(error: OperationalError): void {
    for (const execution of this.#executions.slice(this.#first)) execution.abandon(error);
    for (const { refuse } of [...this.#callers]) refuse(error);
  }
}

export function cancelledError(cause: unknown): OperationalError {
  return new OperationalError("the statement was cancelled", { sqlstate: "57014", cause });
}

function remove<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index !== -1) list.splice(index, 1);
}
