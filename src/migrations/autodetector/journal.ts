import type { SchemaState } from "../../orm/schema/state.js";
import type { Operation } from "../operation.js";

/** The operations found so far, and the state after them. */
export interface Journal {
  readonly state: SchemaState;
  readonly operations: readonly Operation[];
  add(operation: Operation): void;
}

export function journalFrom(from: SchemaState): Journal {
  let state = from;
  const operations: Operation[] = [];
  return {
    get state() {
      return state;
    },
    operations,
    add(operation) {
      state = operation.apply(state);
      operations.push(operation);
    },
  };
}
