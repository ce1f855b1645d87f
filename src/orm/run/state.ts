import type { Queries } from "../../engines/db/database.js";
import type { ColumnMeta } from "../meta.js";

/** The state of an instance besides its values. */
export interface InstanceState {
  /**
   * The values in the database, from `offset` on in the order of the columns; null for a new row. Dates are numbers of
   * milliseconds, because the Date of the instance can be changed in place.
   */
  saved: unknown[] | null;
  offset: number;
  /** Relations that were loaded or set, by name. */
  related: Map<string, unknown> | null;
  /** The names of the relations that the query loaded. They are part of the instance's JSON. */
  shown: readonly string[];
  /** The names of annotations. They are part of the instance's JSON. */
  extras: readonly string[];
  siblings: Siblings | null;
  db: Queries | null;
}

/** The instances of one query. A relation that is loaded for one of them is loaded for all. */
export interface Siblings {
  readonly instances: object[];
  readonly strict: boolean;
  /** The relations that are being loaded; null before the first one. */
  loading: Map<string, Promise<void>> | null;
}

let read: (instance: Tracked) => InstanceState;
let write: (instance: Tracked, state: InstanceState) => void;

/** Keeps the state in a private field, so that it is not in JSON, spreads or logs. */
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
  const value = state.saved?.[state.offset + column.index];
  const isTime = column.type.kind === "datetime" && typeof value === "number" && Number.isFinite(value);
  return isTime ? new Date(value) : value;
}

/** The form of a value in `saved`. */
export function savedForm({ type }: ColumnMeta, value: unknown): unknown {
  return type.kind === "datetime" && value instanceof Date ? value.getTime() : value;
}

export function setRelated(instance: object, name: string, value: unknown, shown = false): void {
  const state = stateOf(instance);
  (state.related ??= new Map()).set(name, value);
  if (shown && !state.shown.includes(name)) state.shown = [...state.shown, name];
}

const nested = new WeakSet<object>();

/**
 * Sets the rows of a to-many relation that were created with the instance. They are part of its JSON; the property stays
 * a set of related rows, as its type says.
 */
export function setCreated(instance: object, name: string, rows: readonly object[]): void {
  nested.add(instance);
  setRelated(instance, name, rows, true);
}

/** True if the property of a to-many relation holds the rows themselves, because a query loaded them. */
export function isListed(instance: object, name: string): boolean {
  return stateOf(instance).shown.includes(name) && !nested.has(instance);
}

/** The values of an instance by name, for code that does not know the type of the model. */
export type Values = Record<string, unknown>;
