/** Instances in a transaction that rolls back take back the state that they had before their first write in it. */

import type { Queries, Transaction } from "../../engines/db/database.js";
import type { ModelConstructor } from "../meta.js";
import { type InstanceState, setState, stateOf, type Values } from "./state.js";

/** The part of a transaction that a statement belongs to. */
export interface Part {
  /** True if it was rolled back: the result of the statement is void. */
  readonly undone: boolean;
}

const committed: Part = { undone: false };

/**
 * Keeps the state that instances have now, for a rollback of the transaction of a connection. Call it in the same turn as
 * the statement, so that both belong to the same savepoint. Without a transaction it does nothing.
 */
export function keepStates(connection: Queries, instances: readonly object[]): Part {
  if (connection.kind !== "transaction") return committed;
  const { level } = connection as Transaction;
  for (const instance of instances) level.keep(instance, takeState);
  return level;
}

function takeState(instance: object): () => void {
  const state = copyOf(stateOf(instance));
  const attributes = (instance.constructor as unknown as ModelConstructor).meta.columns.map((each) => each.attribute);
  const values = new Map<string, unknown>();
  for (const name of attributes) if (Object.hasOwn(instance, name)) values.set(name, (instance as Values)[name]);
  return () => {
    for (const name of attributes) {
      if (values.has(name)) (instance as Values)[name] = values.get(name);
      else delete (instance as Values)[name];
    }
    setState(instance, state);
  };
}

/** The list of saved values and the map of relations are changed in place. */
function copyOf(state: InstanceState): InstanceState {
  return { ...state, saved: state.saved && [...state.saved], related: state.related && new Map(state.related) };
}
