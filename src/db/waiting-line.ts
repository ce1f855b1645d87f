import type { Connection } from "./connection.js";
import { OperationalError } from "./errors.js";
import type { Job } from "./job.js";

interface Waiting {
  readonly since: number;
  readonly timer: NodeJS.Timeout;
}

interface WaitingJob extends Waiting {
  readonly job: Job;
}

interface WaitingCaller extends Waiting {
  readonly give: (connection: Connection) => void;
  readonly refuse: (error: Error) => void;
}

/** Who waits for a connection: jobs, for any, and callers, for one of their own. Nobody waits longer than the limit. */
export class WaitingLine {
  readonly #limit: number;
  readonly #reason: () => OperationalError;
  readonly #jobs: WaitingJob[] = [];
  readonly #callers: WaitingCaller[] = [];

  constructor(limit: number, reason: () => OperationalError) {
    this.#limit = limit;
    this.#reason = reason;
  }

  get empty(): boolean {
    return this.#jobs.length === 0 && this.#callers.length === 0;
  }

  get length(): number {
    return this.#jobs.length + this.#callers.length;
  }

  get callers(): number {
    return this.#callers.length;
  }

  /** Whether the one who has waited longest is a caller. */
  get nextIsCaller(): boolean {
    const caller = this.#callers[0];
    const job = this.#jobs[0];
    return caller !== undefined && (job === undefined || caller.since <= job.since);
  }

  addJob(job: Job): void {
    const timer = setTimeout(() => job.abandon(this.#reason()), this.#limit);
    const entry: WaitingJob = { job, since: performance.now(), timer };
    this.#jobs.push(entry);
    job.withdraw = () => {
      clearTimeout(timer);
      remove(this.#jobs, entry);
    };
  }

  shiftJob(): Job | undefined {
    const entry = this.#jobs.shift();
    if (entry === undefined) return undefined;
    clearTimeout(entry.timer);
    entry.job.withdraw = null;
    return entry.job;
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
    for (const { job } of this.#jobs.splice(0)) job.abandon(error);
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
