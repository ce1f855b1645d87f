import type { Connection, ConnectionOwner } from "../connection.js";
import { columnsOf, Job, noColumns } from "../job.js";
import { internalStatement } from "../statements.js";
import { connectionError, type ServerError, translateError } from "../translate-error.js";
import { wireRow } from "../wire-row.js";
import type { BackendMessage, Pglite, Serialize } from "./pglite-module.js";

/** Milliseconds of statements in a row after which the event loop gets a turn. */
const longestRun = 10;

/** The one session of an embedded database. Statements run in this thread, one after the other. */
export class PgliteConnection implements Connection {
  usable = true;
  clean = true;
  altered = false;
  retired = false;
  retireAt = Number.POSITIVE_INFINITY;
  statementLimit: number | null = null;
  busySince: number = performance.now();
  readonly slow = false;
  readonly #pglite: Pglite;
  readonly #serialize: Serialize;
  readonly #owner: ConnectionOwner;
  readonly #queue: Job[] = [];
  #underWay = 0;
  #working = false;

  constructor(pglite: Pglite, serialize: Serialize, owner: ConnectionOwner) {
    this.#pglite = pglite;
    this.#serialize = serialize;
    this.#owner = owner;
  }

  get load(): number {
    return this.#queue.length + this.#underWay;
  }

  get available(): boolean {
    return this.usable;
  }

  send(job: Job): void {
    if (!this.usable) {
      job.fail(connectionError(new Error("the embedded database has been closed")));
      return;
    }
    this.#queue.push(job);
    if (!this.#working) void this.#work();
  }

  /** Nothing can stop a statement that has begun: it runs in this thread. One that has not is skipped. */
  cancel(): void {}

  async quiet(): Promise<void> {}

  async reset(): Promise<void> {
    // `discard all` would also end the listening, which all share here.
    for (const text of [
      "rollback",
      "close all",
      "set session authorization default",
      "reset all",
      "select pg_advisory_unlock_all()",
      "discard temp",
    ]) {
      const job = new Job(internalStatement(text), [], "execute", false);
      this.send(job);
      await job.promise;
    }
    this.altered = false;
  }

  /** Does nothing: there is no socket, and a database in memory would be lost. It is reset before its next use. */
  destroy(): void {}

  async end(): Promise<void> {
    while (this.load > 0) await new Promise((resolve) => setImmediate(resolve));
    this.#lose(new Error("the database has been closed"));
  }

  #lose(reason: Error): void {
    if (!this.usable) return;
    this.usable = false;
    for (const job of this.#queue.splice(0)) job.fail(connectionError(reason));
    this.#owner.onGone(this);
  }

  async #work(): Promise<void> {
    this.#working = true;
    let since = performance.now();
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      if (job.settled) continue;
      this.#underWay = 1;
      const settle = await this.#run(job);
      this.#underWay = 0;
      this.busySince = performance.now();
      settle();
      if (this.usable) this.#owner.onProgress(this);
      if (this.busySince - since > longestRun) {
        await new Promise((resolve) => setImmediate(resolve));
        since = performance.now();
      }
    }
    this.#working = false;
  }

  /** Runs a job. Resolves to a function that settles it, called once there is room for the next. */
  async #run(job: Job): Promise<() => void> {
    try {
      if (job.params.length > 0 && job.info.parameterTypes === null) {
        const error = this.#read(job, await this.#exchange(this.#question(job)), false);
        if (error !== null) return () => job.fail(translateError(error));
      }
      if (job.encoded === null && !job.encode()) return () => {};
      const error = this.#read(job, await this.#exchange(this.#statement(job)), true);
      return () => (error === null ? job.succeed() : job.fail(translateError(error)));
    } catch (error) {
      return () => {
        job.fail(connectionError(error, "the embedded database has failed"));
        this.#lose(error as Error);
      };
    }
  }

  #exchange(messages: readonly Uint8Array[]): Promise<BackendMessage[]> {
    return this.#pglite.execProtocolStream(Buffer.concat(messages), { throwOnError: false });
  }

  /** Asks for the types of the parameters. */
  #question(job: Job): readonly Uint8Array[] {
    const { parse, describe, sync } = this.#serialize;
    return [parse({ text: job.info.text }), describe({ type: "S" }), sync()];
  }

  #statement(job: Job): readonly Uint8Array[] {
    const { query, parse, describe, bind, execute, sync } = this.#serialize;
    if (job.script) return [query(job.info.text)];
    return [
      parse({ text: job.info.text }),
      describe({ type: "S" }),
      bind({ values: job.encoded ?? [] }),
      execute({}),
      sync(),
    ];
  }

  /** Passes a response to the job. Returns the error in it, or null. */
  #read(job: Job, messages: readonly BackendMessage[], whole: boolean): ServerError | null {
    let error: ServerError | null = null;
    job.columns = noColumns;
    let ready = false;
    for (const message of messages) {
      switch (message.name) {
        case "parameterDescription":
          job.info.parameterTypes = message.dataTypeIDs;
          break;
        case "rowDescription":
          job.columns = columnsOf(message.fields);
          break;
        case "dataRow":
          wireRow.fill(message.fields);
          job.row(wireRow);
          break;
        case "commandComplete":
          job.complete(message.text);
          break;
        case "error":
          error ??= message;
          break;
        case "readyForQuery":
          ready = true;
          if (whole) this.clean = message.status === "I";
          break;
      }
    }
    if (!ready) throw new Error("no complete answer");
    return error;
  }
}
