import type { App } from "../app/app.js";
import { gateOf } from "../durable/gate.js";
import type { Database } from "../engines/db/database.js";
import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";

/** The functions of a test runner that run code around each test: those of vitest, node:test, jest or mocha. */
export interface TestHooks {
  beforeEach(run: () => Promise<void>): unknown;
  afterEach(run: () => Promise<void>): unknown;
}

/** A database, or an application that has one and has started. */
export type TestDatabaseSource = Database | App;

/**
 * Runs a function in a transaction that is rolled back at its end. Until then everything that uses the database runs in this
 * transaction: models, handlers of the application, `request.db`. Transactions in it are savepoints.
 */
export async function rolledBack<T>(source: TestDatabaseSource, run: () => Promise<T> | T): Promise<T> {
  const end = await pin(source);
  try {
    return await run();
  } finally {
    await end();
  }
}

/**
 * Runs each test in a transaction that is rolled back after it: `rollbackEach(() => db, { beforeEach, afterEach })`.
 * The database must be open before the first test.
 */
export function rollbackEach(source: () => TestDatabaseSource, hooks: TestHooks): void {
  let end: (() => Promise<void>) | null = null;
  hooks.beforeEach(async () => {
    end = await pin(source());
  });
  hooks.afterEach(async () => {
    await end?.();
    end = null;
  });
}

interface Pinnable {
  pin(): Promise<() => Promise<void>>;
}

async function pin(source: TestDatabaseSource): Promise<() => Promise<void>> {
  const database = "database" in source ? source.database : source;
  if (!("pin" in database)) throw new ValueError(`a database or an application is expected, not ${show(source)}`);
  // Jobs and sagas run in the transaction too. The gate waits for those that run: each begins and ends on one side of it.
  const gate = gateOf(database);
  const held = async <T>(change: () => Promise<T>): Promise<T> => {
    const open = await gate.close();
    try {
      return await change();
    } finally {
      open();
    }
  };
  const end = await held(() => (database as unknown as Pinnable).pin());
  return () => held(end);
}
