import type { Queries, Transaction } from "../engines/db/database.js";

/** Milliseconds that a transaction of the framework may rest between two statements. */
const longestRest = 10_000;

/**
 * Settings for a transaction of the framework itself. A process that is paused in it, or whose connection has broken without
 * the knowledge of the server, would hold its locks for hours: the server ends its session instead.
 */
export function restLimit({ engine }: Queries): Record<string, number> {
  return engine === "postgres" ? { idle_in_transaction_session_timeout: longestRest } : {};
}

/** Runs a transaction with that limit. Inside of another transaction it is a savepoint, and the limits of that one hold. */
export function boundedTransaction<T>(within: Queries, run: (tx: Transaction) => Promise<T>): Promise<T> {
  return within.transaction(run, within.kind === "transaction" ? {} : { settings: restLimit(within) });
}
