import type { CursorHome } from "../cursor.js";
import type { TransactionOptions } from "../database.js";
import { currentScope } from "./ambient.js";
import { type Run, runHooks, type TransactionScope } from "./transaction.js";
import { readTransactionOptions } from "./transaction-options.js";

/** The transaction that everything runs in: of a test that is rolled back. */
export class PinnedTransaction {
  constructor(private readonly scope: TransactionScope) {}

  /** Runs a transaction of the application as a savepoint, and the hooks of its commit after it. */
  async transaction<T>(run: Run<T>, options?: TransactionOptions, boundSignal?: AbortSignal): Promise<T> {
    const { settings, readOnly, signal = boundSignal } = readTransactionOptions(options);
    const result = await this.scope.transaction(async (tx) => {
      const inner = tx as TransactionScope;
      const before = settings.size === 0 ? settings : await valuesOf(settings, inner);
      if (settings.size > 0) await inner.applySettings(settings);
      // PostgreSQL ends it with the savepoint.
      if (readOnly === true) await inner.command("set local transaction_read_only = on");
      inner.readOnly ||= readOnly === true;
      const value = await run(tx);
      if (before.size > 0) await inner.applySettings(before);
      return value;
    }, signal && { signal });
    // Inside of another transaction of the application, that one runs the hooks.
    if (currentScope(this.scope.owner) === null) await runHooks(this.scope.takeHooks());
    return result;
  }

  cursorHome(): Promise<CursorHome> {
    return this.scope.cursorHome();
  }
}

/** The values that settings have now. PostgreSQL would keep those of a savepoint until the end of the whole transaction. */
async function valuesOf(
  settings: ReadonlyMap<string, string>,
  tx: TransactionScope,
): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  for (const name of settings.keys())
    values.set(name, (await tx.fetchText("select pg_catalog.current_setting($1, true)", [name])) ?? "");
  return values;
}
