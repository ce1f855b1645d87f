import { type Field, type Job, noColumns } from "../job.js";
import type { ServerError } from "../translate-error.js";
import type { PgConnectionHandle, PgModule, PgQuery } from "./pg-module.js";

/** The part of a connection that its queries use. */
export interface JobCarrier {
  write(job: Job): void;
  described(job: Job, fields: readonly Field[] | null): void;
  answered(job: Job): void;
  failed(job: Job, error: ServerError | Error): void;
}

export type JobQueryClass = new (job: Job, carrier: JobCarrier) => PgQuery;

/**
 * A query of node-postgres that passes everything to a job, except the messages that the connection takes first. The
 * driver insists on its base class, which is known only once the package is loaded. The constructor of that class is not
 * called: it would make an event emitter and a result for every statement, which are not used.
 */
export function createJobQuery({ Query }: PgModule): JobQueryClass {
  Object.setPrototypeOf(JobQuery.prototype, Query.prototype);
  return JobQuery;
}

class JobQuery implements PgQuery {
  readonly #job: Job;
  readonly #carrier: JobCarrier;
  /** The turn of the job: the driver reports a lost connection late, when the job may be at another server. */
  readonly #servers: number;
  #over = false;

  constructor(job: Job, carrier: JobCarrier) {
    this.#servers = job.servers;
    this.#job = job;
    this.#carrier = carrier;
  }

  submit(): null {
    this.#carrier.write(this.#job);
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
    if (this.#over || this.#servers !== this.#job.servers) return;
    this.#over = true;
    this.#carrier.failed(this.#job, error);
  }

  handleReadyForQuery(): void {
    if (this.#over) return;
    this.#over = true;
    // A response must have an end (CommandComplete), unless the statement was only prepared.
    if (!this.#job.completed && this.#job.encoded !== null) {
      this.#carrier.failed(this.#job, new Error("an answer without its end"));
      return;
    }
    if (this.#job.columns === noColumns) this.#carrier.described(this.#job, null);
    this.#carrier.answered(this.#job);
  }
}
