import type { SchemaState, TableState } from "../../orm/schema/state.js";
import { own } from "../lookup.js";
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

/** The tables that exist before and after the changes, with both of their states. */
export function tablesThatStay(
  journal: Journal,
  to: SchemaState,
): { readonly name: string; readonly table: TableState; readonly wanted: TableState }[] {
  return Object.entries(to.tables).flatMap(([name, wanted]) => {
    const table = own(journal.state.tables, name);
    return table === undefined ? [] : [{ name, table, wanted }];
  });
}
