import type { Connection } from "./connection.js";
import { OperationalError } from "./errors.js";
import type { Job } from "./job.js";

interface WaitingCaller {
  readonly since: number;
  readonly timer: NodeJS.Timeout;
  readonly give: (connection: Connection) => void;
  readonly refuse: (error: Error) => void;
}

/** The most places of jobs that have left before the list is cut. */
const mostGone = 1024;
/** Milliseconds that a timer may come too early by the other clock. */
const timerLead = 2;

/** The line for connections: jobs wait for any, callers for one that they have alone. The wait is limited. */
export class WaitingLine {
  readonly #limit: number;
  readonly #reason: () => OperationalError;
  /** From `#first` on; those before have left. */
  #jobs: Job[] = [];
  #first = 0;
  /** One for all jobs, since they leave in the order in which they came. */
  #timer: NodeJS.Timeout | null = null;
  readonly #withdraw = (job: Job): void => this.#remove(job);
  readonly #callers: WaitingCaller[] = [];

  constructor(limit: number, reason: () => OperationalError) {
    this.#limit = limit;
    this.#reason = reason;
  }

  get empty(): boolean {
    return this.#first === this.#jobs.length && this.#callers.length === 0;
  }

  get length(): number {
    return this.#jobs.length - this.#first + this.#callers.length;
  }

  get callers(): number {
    return this.#callers.length;
  }

  /** True if a caller has waited longest. */
  get nextIsCaller(): boolean {
    const caller = this.#callers[0];
    const job = this.#jobs[this.#first];
    return caller !== undefined && (job === undefined || caller.since <= job.waitingSince);
  }

  addJob(job: Job): void {
    job.waitingSince = performance.now();
    job.withdraw = this.#withdraw;
    this.#jobs.push(job);
    this.#timer ??= setTimeout(() => this.#abandonLate(), this.#limit);
  }

  shiftJob(): Job | undefined {
    const job = this.#jobs[this.#first];
    if (job === undefined) return undefined;
    this.#first++;
    this.#tidy();
    job.withdraw = null;
    job.waitedMs = performance.now() - job.waitingSince;
    return job;
  }

  #remove(job: Job): void {
    const index = this.#jobs.indexOf(job, this.#first);
    if (index !== -1) this.#jobs.splice(index, 1);
    this.#tidy();
  }

  #tidy(): void {
    if (this.#first < this.#jobs.length) {
      if (this.#first < mostGone) return;
      this.#jobs = this.#jobs.slice(this.#first);
      this.#first = 0;
      return;
    }
    this.#jobs.length = this.#first = 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #abandonLate(): void {
    this.#timer = null;
    const now = performance.now();
    const late = this.#jobs.slice(this.#first).filter((job) => job.waitingSince + this.#limit <= now + timerLead);
    for (const job of late) job.abandon(this.#reason());
    const next = this.#jobs[this.#first];
    if (next !== undefined)
      this.#timer = setTimeout(() => this.#abandonLate(), Math.max(1, next.waitingSince + this.#limit - now));
  }

  addCaller(signal?: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(entry.timer);
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
        timer: setTimeout(() => refuse(this.#reason()), this.#limit),
        give: (connection) => {
          leave();
          resolve(connection);
        },
        refuse,
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#callers.push(entry);
    });
  }

  shiftCaller(): ((connection: Connection) => void) | undefined {
    return this.#callers[0]?.give;
  }

  refuseAll(error: OperationalError): void {
    for (const job of this.#jobs.slice(this.#first)) job.abandon(error);
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
