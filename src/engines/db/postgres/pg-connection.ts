import { type Connection, type ConnectionOwner, nobody } from "../connection.js";
import { columnsOf, Execution, type Field, noColumns } from "../pool/execution.js";
import { internalStatement } from "../statements.js";
import { connectionError, type ServerError, translateError } from "../translate-error.js";
import { wireRow } from "../wire-row.js";
import { sendCancel } from "./cancel.js";
import type { Connected } from "./connect.js";
import type { ExecutionCarrier, ExecutionQueryClass } from "./execution-query.js";
import { messageType } from "./message-reader.js";
import type { PgClient } from "./pg-module.js";
import { PreparedStatements } from "./prepared-statements.js";
import { endsSession, isAboutName, isFromServer, outdatedError, sharedSessionError } from "./response-errors.js";
import type { StatementNaming } from "./statement-naming.js";
import { StatementWriter } from "./statement-writer.js";

/** Milliseconds that an abandoned statement may run before a cancel request is sent. */
const lateCancelDelay = 20;
/** Milliseconds after which a cancel request without effect is sent again. */
const repeatedCancelDelay = 1000;
/** Milliseconds from which a statement counts as slow, beyond the quickest response. */
const slowAfter = 50;
/** Milliseconds that a cancelled statement counts for at least: twice cancelled in a row, it is known to be slow. */
const costOfCancelled = 80;
/** SQLSTATE of a change in a transaction that is read only. */
const readOnlyServer = "25006";

/** A session with a server, through node-postgres, with many statements under way at a time. */
export class PgConnection implements Connection, ExecutionCarrier {
  readonly client: PgClient;
  /** The server by host and port. */
  readonly server: string;
  owner: ConnectionOwner = nobody;
  usable = true;
  clean = true;
  altered = false;
  retired = false;
  retireAt = Number.POSITIVE_INFINITY;
  statementLimit: number | null = null;
  busySince = 0;
  readonly #naming: StatementNaming;
  readonly #connected: Connected;
  readonly #ExecutionQuery: ExecutionQueryClass;
  readonly #prepared = new PreparedStatements();
  readonly #writer: StatementWriter;
  readonly #sent: Execution[] = [];
  /** The changes of tables that its prepared statements take into account. */
  #tableChanges: number;
  /** Executions that wait until the types of the parameters of the first of them are known. */
  #held: Execution[] | null = null;
  /** The execution that asks for those types. */
  #asking: Execution | null = null;
  /** Statements under way that are known to be slow. */
  #heavy = 0;
  /** Milliseconds of the quickest response so far: mostly the round trip. */
  #quickest = 100;
  #failure: Error | null = null;
  #cancelling: Promise<void> | null = null;
  /** A cancel request may have come too late for its statement, and hit a later one. */
  #strayCancel = false;
  /** The last execution that was sent before the request was delivered: none after it can be hit. */
  #lastExposed: Execution | null = null;

  constructor(connected: Connected, ExecutionQuery: ExecutionQueryClass, naming: StatementNaming) {
    const { client, reader, server } = connected;
    this.server = server;
    this.#naming = naming;
    this.#tableChanges = naming.tableChanges;
    this.client = client;
    this.#connected = connected;
    this.#ExecutionQuery = ExecutionQuery;
    this.#writer = new StatementWriter(client.connection, this.#prepared);
    reader.take = (type, bytes, start, end) => this.#take(type, bytes, start, end);
    client.on("error", (error) => this.#lose(error));
    client.on("end", () => this.#lose(new Error("the server closed the connection")));
    client.connection.on("parameterDescription", ({ dataTypeIDs }) => {
      const head = this.#sent[0];
      if (head !== undefined) head.info.parameterTypes = dataTypeIDs;
    });
  }

  get bytesRead(): number {
    return this.#connected.reader.bytesRead;
  }

  get load(): number {
    return this.#held === null ? this.#sent.length : this.#sent.length + this.#held.length;
  }

  /** The oldest unanswered statement. */
  get head(): Execution | undefined {
    return this.#sent[0];
  }

  get slow(): boolean {
    if (this.#sent.length === 0) return false;
    return this.#heavy > 0 || performance.now() - this.busySince > this.#quickest + slowAfter;
  }

  get available(): boolean {
    return this.usable && !this.retired && this.#cancelling === null;
  }

  send(execution: Execution): void {
    if (this.#naming.disabled) execution.prepare = false;
    if (this.#tableChanges !== this.#naming.tableChanges) this.#prepareAgain();
    if (this.#held !== null) this.#held.push(execution);
    else if (!this.usable) execution.fail(connectionError(this.#failure));
    else if (execution.prepare && execution.params.length > 0 && execution.info.parameterTypes === null)
      this.#askTypes(execution);
    else if (execution.encoded !== null || execution.encode()) this.#transmit(execution);
    else this.owner.onProgress(this);
  }

  cancel(execution: Execution): void {
    if (this.#sent[0] !== execution || !this.available) return;
    execution.cancelled = true;
    this.#strayCancel = true;
    this.#cancelling = sendCancel(this.#connected).finally(() => {
      this.#cancelling = null;
      this.#lastExposed = this.#sent.at(-1) ?? null;
      const head = this.#sent[0];
      // A caller that left in between could not cancel its statement; and a cancel request that was lost is sent again.
      if (head?.settled) this.#cancelLater(head, head === execution ? repeatedCancelDelay : lateCancelDelay);
      if (this.usable) this.owner.onProgress(this);
    });
  }

  async quiet(): Promise<void> {
    await this.#cancelling;
  }

  async reset(): Promise<void> {
    await this.#cancelling;
    for (const text of this.clean ? ["discard all"] : ["rollback", "discard all"]) {
      const execution = new Execution(internalStatement(text), [], "execute", false);
      this.send(execution);
      await execution.promise;
    }
    this.#prepared.clear();
    this.altered = false;
  }

  destroy(reason: Error): void {
    this.client.connection.stream.destroy();
    this.#lose(reason);
  }

  async end(): Promise<void> {
    this.usable = false;
    await this.client.end();
  }

  /** @internal */
  write(execution: Execution): void {
    this.#writer.write(execution);
  }

  /** @internal Takes the columns of the rows; null for a statement without rows. */
  described(execution: Execution, fields: readonly Field[] | null): void {
    const columns = fields === null ? noColumns : columnsOf(fields);
    execution.columns = columns;
    if (execution.prepare) this.#prepared.describe(execution.info.name, columns);
  }

  /** @internal */
  answered(execution: Execution): void {
    this.clean = this.client.getTransactionStatus() === "I";
    this.#advance(execution);
    execution.succeed();
    this.owner.onProgress(this);
  }

  /** @internal */
  failed(execution: Execution, error: ServerError | Error): void {
    if (!isFromServer(error)) {
      // An error of the driver itself: the rest of the stream cannot be trusted.
      this.destroy(error as Error);
      execution.fail(connectionError(error));
      return;
    }
    if (endsSession(error)) this.usable = false;
    // The server refuses writes, for example because it was demoted: the next connection may reach the primary.
    // A replica always does.
    if (error.code === readOnlyServer && !execution.readOnly && execution.reroute === null) this.retired = true;
    const aboutName = isAboutName(execution, error);
    const outdated = error.code === "0A000" && execution.prepare && execution.columns !== noColumns;
    const again = this.#mayRunAgain(execution, error, aboutName, outdated);
    this.#advance(execution);
    if (again) {
      execution.restart();
      // All other executions wait for this one, so it cannot wait among them.
      if (execution === this.#asking) this.#transmit(execution);
      else this.owner.onRetry(execution);
    } else {
      const inTransaction = outdated && !this.clean;
      if (aboutName) execution.fail(sharedSessionError(error));
      else execution.fail(inTransaction ? outdatedError(error) : translateError(error, execution.info.text));
    }
    this.owner.onProgress(this);
  }

  /** Takes the messages of a response that do not go through the driver, which is slower. */
  #take(type: number, bytes: Buffer, start: number, end: number): boolean {
    const execution = this.#sent[0];
    if (execution === undefined) return false;
    if (type === messageType.dataRow) {
      wireRow.read(bytes, start, end);
      if (wireRow.count !== execution.columns.names.length) throw new Error("a row of the wrong length");
      execution.row(wireRow);
    } else if (type === messageType.commandComplete) {
      // Its text ends with a zero.
      execution.complete(execution.wantsTag ? bytes.toString("latin1", start, end - 1) : "");
    }
    return true;
  }

  #transmit(execution: Execution): void {
    if (this.#sent.push(execution) === 1) this.busySince = performance.now();
    if (execution.info.slow) {
      this.#heavy++;
      execution.heavy = true;
    }
    this.client.query(new this.#ExecutionQuery(execution, this));
  }

  /** Prepares without running, so that the parameters can be checked before they are sent. */
  #askTypes(execution: Execution): void {
    this.#held = [execution];
    const ask = (this.#asking = new Execution(execution.info, [], "execute", true));
    this.#transmit(ask);
    const resume = (error: unknown): void => {
      this.#asking = null;
      const held = this.#held ?? [];
      this.#held = null;
      if (error !== null) held.shift()?.fail(error);
      for (const waiting of held) if (!waiting.settled) this.send(waiting);
      if (this.usable) this.owner.onProgress(this);
    };
    ask.promise.then(
      () => resume(null),
      (error: unknown) => resume(error),
    );
  }

  #advance(execution: Execution): void {
    if (this.#sent[0] === execution) this.#sent.shift();
    if (this.#lastExposed === execution) this.#lastExposed = null;
    if (execution.heavy) {
      this.#heavy--;
      execution.heavy = false;
    }
    const now = performance.now();
    const took = now - this.busySince;
    this.busySince = now;
    if (took < this.#quickest) this.#quickest = took;
    // A statement that was cancelled would have taken longer; how long is not known, but others should not wait behind it.
    const cost = execution.cancelled ? Math.max(took, costOfCancelled) : took - this.#quickest;
    execution.info.cost += (cost - execution.info.cost) / 4;
    const head = this.#sent[0];
    // Its caller left while it waited. It runs now, usually not for long.
    if (head?.settled) this.#cancelLater(head, lateCancelDelay);
  }

  #cancelLater(execution: Execution, delay: number): void {
    setTimeout(() => this.cancel(execution), delay).unref();
  }

  /**
   * Errors after which a statement may run again, since nothing of it ran. Its prepared form no longer exists (26000), its tables
   * have changed (0A000), or the session has its name already (42P05), both of which a pooler causes; or a cancel request
   * came too late and hit this statement (57014).
   */
  #mayRunAgain(execution: Execution, error: ServerError, aboutName: boolean, outdated: boolean): boolean {
    if (aboutName) this.#surprised(execution, error);
    else if (outdated) {
      // Else a transaction could fail once on each connection, and with each statement that reads the table.
      if (this.#tableChanges === this.#naming.tableChanges) this.#naming.tableChanges++;
      this.#prepareAgain();
    }
    // A statement that could not be prepared: the server has nothing under its name.
    else if (execution.prepare && this.#prepared.columnsOf(execution.info.name) === null)
      this.#prepared.forget(execution.info.name);
    const stray = error.code === "57014" && this.#strayCancel && execution.info.repeatable;
    // The server signals its process twice for one request: both the statement and the next one may be hit.
    if (error.code === "57014" && this.#cancelling === null && this.#lastExposed === null) this.#strayCancel = false;
    const again = aboutName || outdated || (stray && !execution.cancelled);
    return again && this.clean && !execution.settled && execution.retries < 2;
  }

  /** A table has changed: what was prepared before may be outdated. */
  #prepareAgain(): void {
    this.#tableChanges = this.#naming.tableChanges;
    this.#prepared.forgetAll();
  }

  /** The session does not have the statements that this connection has prepared on it. */
  #surprised(execution: Execution, error: ServerError): void {
    const { name } = execution.info;
    const wasThere = this.#prepared.columnsOf(name) != null;
    // Closed before it is prepared again: of several statements under way, another may have done so in between.
    this.#prepared.forget(name);
    this.#naming.surprised(error.code === "42P05" ? "taken" : wasThere ? "gone" : "unknown");
    // The next session may be another one again: without a name it works on all of them.
    if (error.code === "42P05" || execution.retries > 0) execution.prepare = false;
  }

  #lose(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.usable = false;
    for (const execution of this.#sent.splice(0)) execution.fail(connectionError(error));
    for (const execution of this.#held?.splice(0) ?? []) execution.fail(connectionError(error));
    this.client.connection.stream.destroy();
    this.owner.onGone(this);
  }
}
