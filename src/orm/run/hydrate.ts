import type { Queries } from "../../engines/db/database.js";
import type { ExtraPlan, RelatedPlan, RowPlan } from "../compile/row-plan.js";
import { type Siblings, savedForm, setState, stateOf, type Values } from "./state.js";

export interface Origin {
  readonly db: Queries | null;
  readonly strict: boolean;
}

/** Builds the instances of rows. Each instance keeps its row as the values in the database. */
export function hydrate(rows: unknown[][], plan: RowPlan, origin: Origin): object[] {
  const build = builder(plan, origin);
  const instances = new Array<object>(rows.length);
  for (let i = 0; i < rows.length; i++) instances[i] = build(rows[i]!);
  return instances;
}

interface Prepared {
  readonly names: readonly string[];
  readonly decoders: readonly (((value: unknown) => unknown) | undefined)[];
  /** The places of columns whose values are Dates. */
  readonly times: readonly number[];
  readonly whole: boolean;
  readonly extraNames: readonly string[];
  readonly relatedNames: readonly string[];
}

const preparations = new WeakMap<RowPlan, Prepared>();

/** The parts of a plan that are the same for all rows of a statement. */
function prepare(plan: RowPlan): Prepared {
  let prepared = preparations.get(plan);
  if (prepared === undefined) {
    prepared = {
      names: plan.columns.map((column) => column.attribute),
      decoders: plan.columns.map((column) => column.type.decode),
      times: plan.columns.flatMap(({ type }, place) => (type.kind === "datetime" ? [place] : [])),
      whole: plan.columns.length === plan.meta.columns.length,
      extraNames: plan.extras.map((extra) => extra.name),
      relatedNames: plan.related.map((each) => each.relation.name),
    };
    preparations.set(plan, prepared);
  }
  return prepared;
}

function builder(plan: RowPlan, origin: Origin): (row: unknown[]) => object {
  const Class = plan.meta.model;
  const { at, extras } = plan;
  const { names, decoders, times, whole, extraNames, relatedNames } = prepare(plan);
  const nested = plan.related.map((each) => ({ plan: each, build: builder(each, origin) }));
  const siblings: Siblings = { instances: [], strict: origin.strict, loading: null };
  return (row) => {
    const instance = new Class() as Values;
    for (let i = 0; i < names.length; i++) {
      let value = row[at + i];
      const decode = decoders[i];
      if (decode !== undefined && value !== null) row[at + i] = value = decode(value);
      instance[names[i]!] = value;
    }
    for (const place of times) row[at + place] = savedForm(plan.columns[place]!, row[at + place]);
    for (let i = 0; i < extras.length; i++) instance[extraNames[i]!] = decodeExtra(extras[i]!, row);
    setState(instance, {
      saved: whole ? row : spread(row, plan),
      offset: whole ? at : 0,
      related: nested.length === 0 ? null : loadNested(nested, row),
      shown: relatedNames,
      extras: extraNames,
      siblings,
      db: origin.db,
    });
    siblings.instances.push(instance);
    return instance;
  };
}

function loadNested(
  nested: readonly { plan: RelatedPlan; build: (row: unknown[]) => object }[],
  row: unknown[],
): Map<string, unknown> {
  const related = new Map<string, unknown>();
  for (const { plan, build } of nested) related.set(plan.relation.name, row[plan.keyAt] === null ? null : build(row));
  return related;
}

/** The values of the selected columns, each at the index of its column. */
function spread(row: unknown[], plan: RowPlan): unknown[] {
  const saved = new Array<unknown>(plan.meta.columns.length);
  for (let i = 0; i < plan.columns.length; i++) saved[plan.columns[i]!.index] = row[plan.at + i];
  return saved;
}

export function decodeExtra(extra: ExtraPlan, row: readonly unknown[]): unknown {
  const value = row[extra.at];
  return extra.type?.decode !== undefined && value !== null && value !== undefined ? extra.type.decode(value) : value;
}

/** Copies the values of a row that the database returned into an instance. */
export function fill(instance: object, row: readonly unknown[], plan: RowPlan): object {
  const values = instance as Values;
  for (let i = 0; i < plan.columns.length; i++) {
    const { attribute, type } = plan.columns[i]!;
    const value = row[i];
    values[attribute] = type.decode !== undefined && value !== null ? type.decode(value) : value;
  }
  return instance;
}

/** The values of an instance when a statement reads them, for `absorb`. */
export function valuesOf(instance: object, { columns }: RowPlan): readonly unknown[] {
  return columns.map((column) => savedForm(column, (instance as Values)[column.attribute]));
}

/**
 * Copies the row that the database returned into an instance that was saved. A value that differs from `sent` was assigned
 * while the statement ran: it stays, for the next save.
 */
export function absorb(
  instance: object,
  row: unknown[],
  plan: RowPlan,
  db: Queries | null,
  sent: readonly unknown[],
): void {
  const now = valuesOf(instance, plan);
  const assigned = plan.columns.flatMap(({ attribute, generated, version }, i): [string, unknown][] => {
    const isAssigned = now[i] !== undefined && !Object.is(now[i], sent[i]) && generated === undefined && !version;
    return isAssigned ? [[attribute, (instance as Values)[attribute]]] : [];
  });
  fill(instance, row, plan);
  valuesOf(instance, plan).forEach((value, i) => {
    row[i] = value;
  });
  for (const [attribute, value] of assigned) (instance as Values)[attribute] = value;
  const state = stateOf(instance);
  state.saved = row;
  state.offset = 0;
  state.db = db;
}
