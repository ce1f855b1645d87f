import type { CursorHome } from "../cursor.js";
import type { Session, Transaction } from "../database.js";
import { cancelledError } from "../pool/waiting-line.js";
import { runWithin } from "./ambient.js";
import { ConnectionScope } from "./scope.js";
import { openTransaction, runTransaction, type TransactionSource } from "./transaction.js";
import { readSessionOptions, type SessionOptions, type TransactionOptions } from "./transaction-options.js";

/** A connection of the caller's own, outside of a transaction. */
export class SessionScope extends ConnectionScope implements Session {
  readonly kind = "session";

  transaction<T>(run: (tx: Transaction) => Promise<T> | T, options?: TransactionOptions): Promise<T> {
    return runTransaction(this.#source(), run, options, this.signal);
  }

  /** @internal */
  cursorHome(signal: AbortSignal | undefined): Promise<CursorHome> {
    return openTransaction(this.#source(), signal);
  }

  #source(): TransactionSource {
    const { owner, defaults } = this;
    return { owner, defaults, acquire: async () => this.connection, release: () => {} };
  }
}

/** Runs a function with its own connection, and takes back what it changed in the session. */
export async function runSession<T>(
  source: TransactionSource,
  run: (session: Session) => Promise<T> | T,
  options: SessionOptions | undefined,
  boundSignal: AbortSignal | undefined,
): Promise<T> {
  const { statementMs, signal = boundSignal } = readSessionOptions(options);
  if (signal?.aborted) throw cancelledError(signal.reason);
  const connection = await source.acquire(signal);
  const session = new SessionScope(source.owner, connection, source.defaults, signal);
  try {
    await connection.alone?.(true);
    if (statementMs !== undefined) {
      connection.statementLimit = statementMs;
      await session.command(`set statement_timeout = ${statementMs}`);
    }
    return await runWithin(session, () => run(session));
  } finally {
    session.open = false;
    connection.statementLimit = null;
    // Behind a pooler the next statement may reach another session than the one that was used.
    if (!source.defaults.pooled) await connection.reset().catch((error: Error) => connection.destroy(error));
    await connection.alone?.(false)?.catch(() => {});
    source.release(connection);
  }
}
