import type { CursorHome } from "./cursor.js";
import type { Session, Transaction, TransactionOptions } from "./database.js";
import { ConnectionScope } from "./scope.js";
import { openTransaction, runTransaction, type TransactionSource } from "./transaction.js";

/** A connection of the caller's own, outside of a transaction. */
export class SessionScope extends ConnectionScope implements Session {
  readonly kind = "session";

  transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T> {
    return runTransaction(this.owner, this.#source(), this.defaults, run, options, this.signal);
  }

  /** @internal */
  cursorHome(signal: AbortSignal | undefined): Promise<CursorHome> {
    return openTransaction(this.owner, this.#source(), this.defaults, signal);
  }

  #source(): TransactionSource {
    return { acquire: async () => this.connection, release: () => {} };
  }
}
