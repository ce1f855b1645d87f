import type { Queries } from "../../engines/db/database.js";
import type { ColumnMeta } from "../meta.js";

/** What an instance remembers besides its values. */
export interface InstanceState {
  /** The values that are in the database, from `offset` on in the order of the columns; null for a new row. */
  saved: unknown[] | null;
  offset: number;
  /** Relations that were loaded or set, by name. */
  related: Map<string, unknown> | null;
  /** Those of them that were asked for with the query, which are part of its JSON. */
  shown: readonly string[];
  /** Names of annotations, which are part of its JSON. */
  extras: readonly string[];
  siblings: Siblings | null;
  db: Queries | null;
}

/** The instances that one query gave: what is loaded for one of them is loaded for all. */
export interface Siblings {
  readonly instances: object[];
  readonly strict: boolean;
  /** Relations that are being loaded; made with the first. */
  loading: Map<string, Promise<void>> | null;
}

let read: (instance: Tracked) => InstanceState;
let write: (instance: Tracked, state: InstanceState) => void;

/** Keeps the state in a private field: it is in no JSON, no spread and no log. */
export class Tracked {
  #state: InstanceState | null = null;

  static {
    read = (instance) => (instance.#state ??= newState());
    write = (instance, state) => {
      instance.#state = state;
    };
  }
}

export function stateOf(instance: object): InstanceState {
  return read(instance as Tracked);
}

export function setState(instance: object, state: InstanceState): void {
  write(instance as Tracked, state);
}

function newState(): InstanceState {
  return { saved: null, offset: 0, related: null, shown: [], extras: [], siblings: null, db: null };
}

export function savedValue(state: InstanceState, column: ColumnMeta): unknown {
  return state.saved?.[state.offset + column.index];
}

export function setRelated(instance: object, name: string, value: unknown, shown = false): void {
  const state = stateOf(instance);
  (state.related ??= new Map()).set(name, value);
  if (shown && !state.shown.includes(name)) state.shown = [...state.shown, name];
}

/** The values of an instance by name; it has more than its type tells here. */
export type Values = Record<string, unknown>;
