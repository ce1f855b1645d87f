import { isPlainObject } from "../../kit/options.js";
import { FieldError } from "../errors.js";
import type { ModelMeta, RelationMeta } from "../meta.js";
import { metaOf } from "../run/persist.js";
import type { Values } from "../run/state.js";

/** The values of one new row, and its place in the argument of `create`: `books[1]`; empty for the first row. */
export interface Given {
  readonly values: Values;
  readonly path: string;
}

/** A related row as it was given: values of a new row, an instance, or the key of a row. */
export type Item =
  | { readonly type: "new"; readonly given: Given }
  | { readonly type: "instance"; readonly instance: object; readonly path: string }
  | { readonly type: "key"; readonly key: unknown; readonly path: string };

/** The values of a new row, divided by the moment at which they are written. */
export interface RowParts {
  /** Columns, and relations by key or instance. */
  readonly own: Values;
  /** Rows that must exist before this one, because it refers to them. */
  readonly before: ReadonlyMap<string, Given>;
  /** Rows that refer to this one, or are joined with it. */
  readonly after: ReadonlyMap<RelationMeta, readonly Item[]>;
}

/** True if the values hold related rows, and not only columns and keys. */
export function hasRelated(meta: ModelMeta, values: object): boolean {
  for (const key of Object.keys(values)) {
    const value = (values as Values)[key];
    if (value === undefined) continue;
    // A key that is neither a column nor a relation is refused later, by name.
    if (refers(meta, key) ? isNew(value) : meta.column(key) === undefined && meta.relations.has(key)) return true;
  }
  return false;
}

export function partsOf(meta: ModelMeta, { values, path }: Given): RowParts {
  const own: Values = {};
  const before = new Map<string, Given>();
  const after = new Map<RelationMeta, readonly Item[]>();
  for (const key of Object.keys(values)) {
    const value = values[key];
    if (value === undefined) continue;
    const isKey = refers(meta, key);
    const relation = isKey || meta.column(key) !== undefined ? undefined : meta.relations.get(key);
    if (relation !== undefined) after.set(relation, itemsOf(relation, value, join(path, key)));
    else if (isKey && isNew(value)) before.set(key, { values: value, path: join(path, key) });
    else own[key] = value;
  }
  return { own, before, after };
}

/** True for a foreign key of the model, of one column or of several. */
function refers(meta: ModelMeta, key: string): boolean {
  return meta.column(key)?.reference !== undefined || meta.foreignKeys.some(({ name }) => name === key);
}

function itemsOf(relation: RelationMeta, value: unknown, path: string): Item[] {
  if (relation.single) return value === null ? [] : [itemOf(relation, value, path)];
  if (!Array.isArray(value)) throw new FieldError(`${path} leads to many rows: give a list`);
  return value.map((item, index) => itemOf(relation, item, `${path}[${index}]`));
}

function itemOf(relation: RelationMeta, value: unknown, path: string): Item {
  const { target, through } = relation;
  if (isNew(value)) return { type: "new", given: { values: value, path } };
  if (isInstance(value)) {
    if (metaOf(value).sqlName !== target.sqlName)
      throw new FieldError(`${path} takes a ${target.name}, not an instance of ${metaOf(value).name}`);
    return { type: "instance", instance: value, path };
  }
  const isKey = value !== null && value !== undefined && typeof value !== "object";
  if (through !== undefined && isKey) return { type: "key", key: value, path };
  const keys = through === undefined ? "" : ", or the key of one";
  throw new FieldError(`${path} takes the values of a new ${target.name}, an instance of it${keys}`);
}

/** Values of a new row are a plain object. Dates, bytes, expressions and instances are not. */
function isNew(value: unknown): value is Values {
  return isPlainObject(value);
}

export function isInstance(value: unknown): value is object {
  return typeof value === "object" && value !== null && "meta" in value.constructor;
}

export function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
