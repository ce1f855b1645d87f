import type { Job } from "../job.js";
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

  write(job: Job): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(this.#sendOff);
    }
    const columns = job.prepare ? this.#prepared.columnsOf(job.info.name) : undefined;
    if (columns != null && job.encoded !== null) {
      job.columns = columns;
      this.#buffer.add(job.info.name, job.encoded);
      return;
    }
    if (!this.#corked) this.#handle.stream.cork();
    this.#corked = true;
    this.#flush();
    if (job.script) this.#handle.query(job.info.text);
    else this.#writeNew(job, columns === undefined);
  }

  /** Writes a statement that is not prepared in this session, or not described yet. */
  #writeNew(job: Job, parse: boolean): void {
    const handle = this.#handle;
    const name = job.prepare ? job.info.name : "";
    if (parse) {
      for (const old of this.#prepared.takeStale()) handle.close({ type: "S", name: old });
      handle.parse({ text: job.info.text, name });
      if (job.prepare) this.#prepared.add(name);
    }
    handle.describe({ type: "S", name });
    if (job.encoded !== null) {
      handle.bind({ statement: name, values: job.encoded });
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
