import { type Field, type Job, noColumns } from "../job.js";
import type { ServerError } from "../translate-error.js";
import type { PgConnectionHandle, PgModule, PgQuery } from "./pg-module.js";

/** The connection as its queries see it. */
export interface JobCarrier {
  write(handle: PgConnectionHandle, job: Job): void;
  described(job: Job, fields: readonly Field[] | null): void;
  answered(job: Job): void;
  failed(job: Job, error: ServerError | Error): void;
}

export type JobQueryClass = new (job: Job, carrier: JobCarrier) => PgQuery;

/**
 * A query of node-postgres that hands everything to a job, but for what the connection has taken before. Its base class
 * is known only once the package is loaded, and the driver insists on it; what its constructor would make for every
 * statement, an event emitter and a result, nobody uses.
 */
export function createJobQuery({ Query }: PgModule): JobQueryClass {
  Object.setPrototypeOf(JobQuery.prototype, Query.prototype);
  return JobQuery;
}

class JobQuery implements PgQuery {
  readonly #job: Job;
  readonly #carrier: JobCarrier;
  #over = false;

  constructor(job: Job, carrier: JobCarrier) {
    this.#job = job;
    this.#carrier = carrier;
  }

  submit(handle: PgConnectionHandle): null {
    this.#carrier.write(handle, this.#job);
    return null;
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#carrier.described(this.#job, fields);
  }

  handleDataRow(): void {}

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {
    this.#job.complete("");
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(handle: PgConnectionHandle): void {
    handle.sendCopyFail("copy from stdin is not supported");
  }

  handleCopyData(): void {}

  handleError(error: ServerError | Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#carrier.failed(this.#job, error);
  }

  handleReadyForQuery(): void {
    if (this.#over) return;
    this.#over = true;
    // An answer must say how the statement ended, unless it was only to be prepared.
    if (!this.#job.completed && this.#job.encoded !== null) {
      this.#carrier.failed(this.#job, new Error("an answer without its end"));
      return;
    }
    if (this.#job.columns === noColumns) this.#carrier.described(this.#job, null);
    this.#carrier.answered(this.#job);
  }
}
