import type { Connection, ConnectionOwner } from "../connection.js";
import { columnsOf, Execution, noColumns } from "../pool/execution.js";
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
  readonly #queue: Execution[] = [];
  #underWay = 0;
  #working = false;

  constructor(
    private readonly pglite: Pglite,
    private readonly serialize: Serialize,
    private readonly owner: ConnectionOwner,
  ) {}

  get load(): number {
    return this.#queue.length + this.#underWay;
  }

  get available(): boolean {
    return this.usable;
  }

  send(execution: Execution): void {
    if (!this.usable) {
      execution.fail(connectionError(new Error("the embedded database has been closed")));
      return;
    }
    this.#queue.push(execution);
    if (!this.#working) void this.#work();
  }

  /** Nothing can stop a statement that has begun: it runs in this thread. One that has not is skipped. */
  cancel(): void {}

  async quiet(): Promise<void> {}

  alone(alone: boolean): Promise<unknown> | undefined {
    return this.pglite.alone?.(alone);
  }

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
      const execution = new Execution(internalStatement(text), [], "execute", false);
      this.send(execution);
      await execution.promise;
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
    for (const execution of this.#queue.splice(0)) execution.fail(connectionError(reason));
    this.owner.onGone(this);
  }

  async #work(): Promise<void> {
    this.#working = true;
    let since = performance.now();
    for (let execution = this.#queue.shift(); execution !== undefined; execution = this.#queue.shift()) {
      if (execution.settled) continue;
      this.#underWay = 1;
      const settle = await this.#run(execution);
      this.#underWay = 0;
      this.busySince = performance.now();
      settle();
      if (this.usable) this.owner.onProgress(this);
      if (this.busySince - since > longestRun) {
        await new Promise((resolve) => setImmediate(resolve));
        since = performance.now();
      }
    }
    this.#working = false;
  }

  /** Runs an execution. Resolves to a function that settles it, called once there is room for the next. */
  async #run(execution: Execution): Promise<() => void> {
    try {
      if (execution.params.length > 0 && execution.info.parameterTypes === null) {
        const error = this.#read(execution, await this.#exchange(this.#question(execution)), false);
        if (error !== null) return () => execution.fail(translateError(error, execution.info.text));
      }
      if (execution.encoded === null && !execution.encode()) return () => {};
      const error = this.#read(execution, await this.#exchange(this.#statement(execution)), true);
      return () => (error === null ? execution.succeed() : execution.fail(translateError(error, execution.info.text)));
    } catch (error) {
      return () => {
        execution.fail(connectionError(error, "the embedded database has failed"));
        this.#lose(error as Error);
      };
    }
  }

  #exchange(messages: readonly Uint8Array[]): Promise<BackendMessage[]> {
    return this.pglite.execProtocolStream(Buffer.concat(messages), { throwOnError: false });
  }

  /** Asks for the types of the parameters. */
  #question(execution: Execution): readonly Uint8Array[] {
    const { parse, describe, sync } = this.serialize;
    return [parse({ text: execution.info.text }), describe({ type: "S" }), sync()];
  }

  #statement(execution: Execution): readonly Uint8Array[] {
    const { query, parse, describe, bind, execute, sync } = this.serialize;
    if (execution.script) return [query(execution.info.text)];
    return [
      parse({ text: execution.info.text }),
      describe({ type: "S" }),
      bind({ values: execution.encoded ?? [] }),
      execute({}),
      sync(),
    ];
  }

  /** Passes a response to the execution. Returns the error in it, or null. */
  #read(execution: Execution, messages: readonly BackendMessage[], whole: boolean): ServerError | null {
    let error: ServerError | null = null;
    execution.columns = noColumns;
    let ready = false;
    for (const message of messages) {
      switch (message.name) {
        case "parameterDescription":
          execution.info.parameterTypes = message.dataTypeIDs;
          break;
        case "rowDescription":
          execution.columns = columnsOf(message.fields);
          break;
        case "dataRow":
          wireRow.fill(message.fields);
          execution.row(wireRow);
          break;
        case "commandComplete":
          execution.complete(message.text);
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
