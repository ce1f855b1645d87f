import { joinColumns } from "../../orm/model/through.js";
import { splitName, usualForeignKeyName, usualIndexName } from "../../orm/schema/names.js";
import type { Draft } from "./draft.js";
import type { ForeignKeys, ToOne } from "./foreign-keys.js";

/** A table that holds nothing but pairs of keys: a many-to-many relation of the first one's model to the second's. */
export interface JoinTable {
  readonly draft: Draft;
  readonly source: ToOne;
  readonly target: ToOne;
  /** True if the relation makes exactly this table by itself, so that it needs no class. */
  readonly automatic: boolean;
}

/** Undefined when the table holds more than pairs of keys. */
export function joinTableOf(draft: Draft, { toOne, composite, notes }: ForeignKeys): JoinTable | undefined {
  const [source, target] = draft.key.map((column) => toOne.get(column));
  const isPair = draft.managed && draft.key.length === 2 && Object.keys(draft.state.columns).length === 2;
  if (!isPair || source === undefined || target === undefined) return undefined;
  if (composite.length > 0 || notes.length > 0) return undefined;
  if (![source, target].every(({ target: { key }, to }) => key.length === 1 && key[0] === to)) return undefined;
  return { draft, source, target, automatic: isAutomatic(draft, source, target) };
}

function isAutomatic(draft: Draft, source: ToOne, target: ToOne): boolean {
  const { state, table } = draft;
  const [from, to] = [source, target].map(({ target: other }) => splitName(other.table).name) as [string, string];
  const columns = joinColumns(from, to, source.target === target.target);
  const names = Object.keys(state.columns);
  const index = usualIndexName(table, { on: [columns[1]!] });
  const indexes = Object.entries(state.indexes ?? {});
  return (
    names.join("\0") === columns.join("\0") &&
    draft.key.join("\0") === columns.join("\0") &&
    splitName(table).schema === splitName(source.target.table).schema &&
    source.target.managed &&
    [source, target].every((each) => isPlain(draft, each)) &&
    indexes.length === 1 &&
    indexes[0]![0] === index &&
    JSON.stringify(indexes[0]![1]) === JSON.stringify({ on: [columns[1]] }) &&
    state.primaryKeyName === undefined &&
    state.unique === undefined &&
    state.checks === undefined &&
    state.comment === undefined
  );
}

function isPlain({ table, state, columns }: Draft, { column, key }: ToOne): boolean {
  const { default: value, comment } = columns.get(column)!.state;
  return (
    value === undefined &&
    comment === undefined &&
    Object.hasOwn(state.foreignKeys ?? {}, usualForeignKeyName(table, [column])) &&
    key.onDelete === "cascade" &&
    key.onUpdate === undefined &&
    !key.deferred
  );
}
