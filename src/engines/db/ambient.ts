import { AsyncLocalStorage } from "node:async_hooks";
import type { Queries } from "./database.js";

/** A transaction or session that surrounds the code which runs in it. */
export interface Scope extends Queries {
  /** The database to which it belongs. */
  readonly owner: object;
  readonly open: boolean;
}

interface Surroundings {
  readonly scope: Scope;
  readonly outer: Surroundings | undefined;
}

/** Made with the first transaction: in Node 20 an active storage costs every promise a little. */
let storage: AsyncLocalStorage<Surroundings> | null = null;

export function runWithin<T>(scope: Scope, run: () => T): T {
  storage ??= new AsyncLocalStorage();
  return storage.run({ scope, outer: storage.getStore() }, run);
}

/** The innermost scope of a database around the caller that is still open. */
export function currentScope(owner: object): Scope | null {
  let around = storage?.getStore();
  while (around !== undefined && (around.scope.owner !== owner || !around.scope.open)) around = around.outer;
  return around?.scope ?? null;
}
