import type { Connection } from "../connection.js";
import type { QueryOptions } from "../database.js";
import { ProgrammingError } from "../errors.js";
import { Execution } from "../pool/execution.js";
import { PoolQueries, type QueryDefaults } from "../pool/pool-queries.js";
import { readQueryOptions } from "../query-options.js";
import { assertAllowed, internalStatement } from "../statements.js";
import { oid } from "../values/oids.js";
import type { Scope } from "./ambient.js";

/** The calls that run SQL, on a connection that the caller has alone. */
export abstract class ConnectionScope extends PoolQueries implements Scope {
  readonly owner: object;
  open = true;
  /** True if the caller asked for a transaction that is read only. */
  readOnly = false;
  protected readonly connection: Connection;
  #cursors = 0;

  constructor(owner: object, connection: Connection, defaults: QueryDefaults, signal: AbortSignal | undefined) {
    super(defaults, signal);
    this.owner = owner;
    this.connection = connection;
  }

  protected start(execution: Execution): void {
    if (!this.open) throw new ProgrammingError(`the ${this.kind} has ended`);
    if (this.alters(execution)) this.connection.altered = true;
    execution.readOnly = this.readOnly;
    execution.carrier = this.connection;
    this.connection.send(execution);
  }

  async script(text: string, given?: QueryOptions): Promise<void> {
    const options = readQueryOptions(given);
    const info = internalStatement(text);
    assertAllowed(info, "session");
    const execution = new Execution(info, [], "execute", false, true);
    // Its statements are not looked at one by one.
    if (!this.defaults.pooled) this.connection.altered = true;
    this.begin(execution, options);
    await execution.promise;
  }

  /** @internal A name that no other cursor of the scope has. */
  cursorName(): string {
    return `stoa_cursor_${++this.#cursors}`;
  }

  /** @internal Settings that end with the transaction. Names and values are parameters. */
  applySettings(settings: ReadonlyMap<string, string>): Promise<unknown> {
    const calls = Array.from(settings, (_, i) => `pg_catalog.set_config($${2 * i + 1}, $${2 * i + 2}, true)`);
    const info = this.defaults.statements.get(`select ${calls.join(", ")}`);
    info.parameterTypes ??= calls.flatMap(() => [oid.text, oid.text]);
    const execution = new Execution(info, [...settings].flat(), "execute", this.defaults.prepare);
    execution.carrier = this.connection;
    this.connection.send(execution);
    return execution.promise;
  }

  /** @internal Runs a statement of the framework itself, also after the scope has ended. */
  command(text: string): Promise<unknown> {
    // The simple protocol: one message there, and less coming back.
    const execution = new Execution(internalStatement(text), [], "execute", false, true);
    execution.carrier = this.connection;
    this.connection.send(execution);
    return execution.promise;
  }
}
