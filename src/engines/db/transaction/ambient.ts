import { AsyncLocalStorage } from "node:async_hooks";
import type { Queries } from "../database.js";

/** A transaction or session that surrounds the code which runs in it. */
export interface Scope extends Queries {
  /** The database to which it belongs. */
  readonly owner: object;
  readonly open: boolean;
}

interface Surroundings {
  readonly scope: Scope;
  readonly outer: Surroundings | undefined;
  /** True until the function that it surrounds has ended. */
  running: boolean;
}

/** Made with the first transaction: in Node 20 an active storage costs every promise a little. */
let storage: AsyncLocalStorage<Surroundings> | null = null;

export async function runWithin<T>(scope: Scope, run: () => Promise<T> | T): Promise<T> {
  storage ??= new AsyncLocalStorage();
  const around: Surroundings = { scope, outer: storage.getStore(), running: true };
  try {
    return await storage.run(around, run);
  } finally {
    around.running = false;
  }
}

/**
 * The innermost scope of a database around the caller that is still open, or whose function still runs: the rest of the
 * function of a transaction that was aborted is refused, and not written outside of it.
 */
export function currentScope(owner: object): Scope | null {
  let around = storage?.getStore();
  while (around !== undefined && (around.scope.owner !== owner || !(around.scope.open || around.running)))
    around = around.outer;
  return around?.scope ?? null;
}
