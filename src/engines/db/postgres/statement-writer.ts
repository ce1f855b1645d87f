import type { Execution } from "../pool/execution.js";
import type { PgConnectionHandle } from "./pg-module.js";
import type { PreparedStatements } from "./prepared-statements.js";
import { StatementBuffer } from "./statement-buffer.js";

const wholeResult = {};

/** Writes statements to the server. Those of one turn of the event loop leave together. */
export class StatementWriter {
  readonly #handle: PgConnectionHandle;
  readonly #prepared: PreparedStatements;
  /** Statements that the session has prepared, until the end of the turn. */
  readonly #buffer = new StatementBuffer();
  #scheduled = false;
  #corked = false;
  readonly #sendOff = (): void => {
    this.#scheduled = false;
    this.#flush();
    if (this.#corked) this.#handle.stream.uncork();
    this.#corked = false;
  };

  constructor(handle: PgConnectionHandle, prepared: PreparedStatements) {
    this.#handle = handle;
    this.#prepared = prepared;
  }

  write(execution: Execution): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(this.#sendOff);
    }
    const columns = execution.prepare ? this.#prepared.columnsOf(execution.info.name) : undefined;
    if (columns != null && execution.encoded !== null) {
      execution.columns = columns;
      this.#buffer.add(execution.info.name, execution.encoded);
      return;
    }
    if (!this.#corked) this.#handle.stream.cork();
    this.#corked = true;
    this.#flush();
    if (execution.script) this.#handle.query(execution.info.text);
    else this.#writeNew(execution, columns === undefined);
  }

  /** Writes a statement that is not prepared in this session, or not described yet. */
  #writeNew(execution: Execution, parse: boolean): void {
    const handle = this.#handle;
    const name = execution.prepare ? execution.info.name : "";
    if (parse) {
      for (const old of this.#prepared.takeStale()) handle.close({ type: "S", name: old });
      handle.parse({ text: execution.info.text, name });
      if (execution.prepare) this.#prepared.add(name);
    }
    handle.describe({ type: "S", name });
    if (execution.encoded !== null) {
      handle.bind({ statement: name, values: execution.encoded });
      handle.execute(wholeResult);
    }
    handle.sync();
  }

  #flush(): void {
    if (this.#buffer.empty) return;
    const { stream } = this.#handle;
    const bytes = this.#buffer.take();
    if (stream.writable) stream.write(bytes);
  }
}
