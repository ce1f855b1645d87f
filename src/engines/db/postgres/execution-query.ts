import { type Execution, type Field, noColumns } from "../pool/execution.js";
import type { ServerError } from "../translate-error.js";
import type { PgConnectionHandle, PgModule, PgQuery } from "./pg-module.js";

/** The part of a connection that its queries use. */
export interface ExecutionCarrier {
  write(execution: Execution): void;
  described(execution: Execution, fields: readonly Field[] | null): void;
  answered(execution: Execution): void;
  failed(execution: Execution, error: ServerError | Error): void;
}

export type ExecutionQueryClass = new (execution: Execution, carrier: ExecutionCarrier) => PgQuery;

/**
 * A query of node-postgres that passes everything to an execution, except the messages that the connection takes first. The
 * driver insists on its base class, which is known only once the package is loaded. The constructor of that class is not
 * called: it would make an event emitter and a result for every statement, which are not used.
 */
export function createExecutionQuery({ Query }: PgModule): ExecutionQueryClass {
  Object.setPrototypeOf(ExecutionQuery.prototype, Query.prototype);
  return ExecutionQuery;
}

class ExecutionQuery implements PgQuery {
  readonly #execution: Execution;
  readonly #carrier: ExecutionCarrier;
  /** The turn of the execution: the driver reports a lost connection late, when the execution may be at another server. */
  readonly #servers: number;
  #over = false;

  constructor(execution: Execution, carrier: ExecutionCarrier) {
    this.#servers = execution.servers;
    this.#execution = execution;
    this.#carrier = carrier;
  }

  submit(): null {
    this.#carrier.write(this.#execution);
    return null;
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#carrier.described(this.#execution, fields);
  }

  handleDataRow(): void {}

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {
    this.#execution.complete("");
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(handle: PgConnectionHandle): void {
    handle.sendCopyFail("copy from stdin is not supported");
  }

  handleCopyData(): void {}

  handleError(error: ServerError | Error): void {
    if (this.#over || this.#servers !== this.#execution.servers) return;
    this.#over = true;
    this.#carrier.failed(this.#execution, error);
  }

  handleReadyForQuery(): void {
    if (this.#over) return;
    this.#over = true;
    // A response must have an end (CommandComplete), unless the statement was only prepared.
    if (!this.#execution.completed && this.#execution.encoded !== null) {
      this.#carrier.failed(this.#execution, new Error("an answer without its end"));
      return;
    }
    if (this.#execution.columns === noColumns) this.#carrier.described(this.#execution, null);
    this.#carrier.answered(this.#execution);
  }
}
