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

/** A query of node-postgres that hands everything to a job. Its class is known only once the package is loaded. */
export function createJobQuery({ Query }: PgModule): JobQueryClass {
  return class JobQuery extends Query {
    readonly #job: Job;
    readonly #carrier: JobCarrier;
    #complete = false;
    #over = false;

    constructor(job: Job, carrier: JobCarrier) {
      super(job.info.text);
      this.#job = job;
      this.#carrier = carrier;
    }

    override submit(handle: PgConnectionHandle): null {
      this.#carrier.write(handle, this.#job);
      return null;
    }

    override handleRowDescription({ fields }: { fields: Field[] }): void {
      this.#carrier.described(this.#job, fields);
    }

    override handleDataRow({ fields }: { fields: (string | null)[] }): void {
      if (fields.length !== this.#job.columns.names.length) throw new Error("a row of the wrong length");
      this.#job.row(fields);
    }

    override handleCommandComplete({ text }: { text: string }): void {
      this.#complete = true;
      this.#job.complete(text);
    }

    override handleEmptyQuery(): void {
      this.#complete = true;
    }

    override handlePortalSuspended(): void {}

    override handleCopyInResponse(handle: PgConnectionHandle): void {
      handle.sendCopyFail("copy from stdin is not supported");
    }

    override handleCopyData(): void {}

    override handleError(error: ServerError | Error): void {
      if (this.#over) return;
      this.#over = true;
      this.#carrier.failed(this.#job, error);
    }

    override handleReadyForQuery(): void {
      if (this.#over) return;
      this.#over = true;
      // An answer must say how the statement ended, unless it was only to be prepared.
      if (!this.#complete && this.#job.encoded !== null) {
        this.#carrier.failed(this.#job, new Error("an answer without its end"));
        return;
      }
      if (this.#job.columns === noColumns) this.#carrier.described(this.#job, null);
      this.#carrier.answered(this.#job);
    }
  };
}
