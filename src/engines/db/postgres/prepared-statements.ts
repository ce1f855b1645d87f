import type { Columns } from "../pool/execution.js";

/** The most statements that a session keeps prepared: each takes memory on the server. */
const mostPrepared = 250;

/** The statements that a session has prepared. */
export class PreparedStatements {
  /**
   * The columns of their rows; null until the server has described them. By name: a text that was forgotten and learned
   * again is another `StatementInfo` with the same name.
   */
  readonly #columns = new Map<string, Columns | null>();
  /** Names of statements to close on the server, sent with the next one that is prepared. */
  readonly #stale: string[] = [];

  /** The columns of the rows of a statement; null if they are not known yet, undefined if it is not prepared. */
  columnsOf(name: string): Columns | null | undefined {
    return this.#columns.get(name);
  }

  add(name: string): void {
    if (this.#columns.size >= mostPrepared) {
      const [oldest] = this.#columns.keys();
      this.forget(oldest!);
    }
    this.#columns.set(name, null);
  }

  /** Takes the columns of a statement, unless it has been forgotten in between. */
  describe(name: string, columns: Columns): void {
    if (this.#columns.has(name)) this.#columns.set(name, columns);
  }

  forget(name: string): void {
    if (this.#columns.delete(name)) this.#stale.push(name);
  }

  forgetAll(): void {
    for (const name of this.#columns.keys()) this.forget(name);
  }

  /** Takes the names of forgotten statements, which the server still has. */
  takeStale(): readonly string[] {
    return this.#stale.splice(0);
  }

  /** Forgets everything, because the server has. */
  clear(): void {
    this.#columns.clear();
    this.#stale.length = 0;
  }
}
