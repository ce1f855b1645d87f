import { snakeCase } from "../../kit/names.js";
import { keyAttribute } from "../../orm/model/columns.js";
import { usualCheckName, usualIndexName, usualUniqueName } from "../../orm/schema/names.js";
import type { IndexState } from "../../orm/schema/state.js";
import { escaped } from "../names.js";
import { fieldCode } from "./column-type.js";
import { defaultValueCode } from "./defaults.js";
import type { Draft, DraftColumn } from "./draft.js";
import { call, type Options, yes } from "./field-call.js";
import type { ToOne } from "./foreign-keys.js";
import type { Code } from "./source.js";

/** The field of a column without a foreign key. The constraints and indexes that it expresses are added to `spoken`. */
export function columnCode(draft: Draft, column: string, property: string, typed: boolean): Code {
  const drafted = draft.columns.get(column)!;
  const { state, source, auto } = drafted;
  const name: Options = snakeCase(property) === column ? [] : [["column", escaped(column)]];
  const comment: Options = state.comment === undefined ? [] : [["comment", escaped(state.comment)]];
  if (auto !== undefined) return call(`field.${auto}`, [], [...name, ...comment]);
  const isText = source.maker === "text" || source.maker === "char";
  const options: Options = [
    ...nullOption(draft, column),
    ...defaultOptions(drafted),
    ...(speaksForUnique(draft, column) ? yes("unique") : []),
    ...(speaksForIndex(draft, column, source.maker === "searchVector" ? "gin" : undefined) ? yes("index") : []),
    ...(isSingleKey(draft, column) ? yes("primaryKey") : []),
    ...name,
    ...checkOption(draft, column),
    ...(state.generated === undefined ? [] : [["generated", escaped(state.generated)] as const]),
    ...(state.collation === undefined || !isText ? [] : [["collation", escaped(state.collation)] as const]),
    ...comment,
  ];
  return fieldCode(source, options, typed);
}

/** The field of a foreign key. */
export function toOneCode(
  draft: Draft,
  relation: ToOne,
  property: string,
  targetClass: string,
  targetProperty: string,
): Code {
  const { column, target, to, one, key, name } = relation;
  const drafted = draft.columns.get(column)!;
  const isKey = isSingleKey(draft, column);
  const refersToKey = target.key.length === 1 && target.key[0] === to;
  const indexed = !one && !isKey && speaksForIndex(draft, column, undefined);
  const options: Options = [
    ...nullOption(draft, column),
    ...defaultOptions(drafted),
    ...(one || isKey || indexed ? [] : [["index", "false"] as const]),
    ...(isKey ? yes("primaryKey") : []),
    ...(snakeCase(keyAttribute(property)) === column ? [] : [["column", escaped(column)] as const]),
    ...(refersToKey ? [] : [["to", escaped(targetProperty)] as const]),
    ...(key.onDelete === "cascade" ? [] : [["onDelete", escaped(key.onDelete ?? "no action")] as const]),
    ...(key.onUpdate === undefined ? [] : [["onUpdate", escaped(key.onUpdate)] as const]),
    ...(key.deferred ? yes("deferred") : []),
    ...(name === undefined ? [] : [["constraint", escaped(name)] as const]),
    ...(drafted.state.comment === undefined ? [] : [["comment", escaped(drafted.state.comment)] as const]),
  ];
  return call(one ? "field.oneToOne" : "field.foreignKey", [`() => ${targetClass}`], options);
}

/** True if the field itself declares the primary key. The options of the table declare a composite key. */
export function isSingleKey({ key, columns }: Draft, column: string): boolean {
  if (key.length !== 1 || key[0] !== column) return false;
  // field.auto always takes itself for the key.
  return [...columns].every(([name, { auto }]) => auto === undefined || name === column);
}

function nullOption({ key, columns }: Draft, column: string): Options {
  // A column that is only treated as a key can be nullable in the database.
  return columns.get(column)!.state.nullable && !key.includes(column) ? yes("null") : [];
}

function defaultOptions({ state, source }: DraftColumn): Options {
  if (state.default === undefined) return [];
  const value = defaultValueCode(state, source);
  return [value === undefined ? ["defaultSql", escaped(state.default)] : ["default", value]];
}

function checkOption({ table, state, spoken }: Draft, column: string): Options {
  const name = usualCheckName(table, column, "check");
  if (!Object.hasOwn(state.checks ?? {}, name) || spoken.has(name)) return [];
  spoken.add(name);
  return [["check", escaped(state.checks![name]!)]];
}

function speaksForUnique({ table, state, spoken }: Draft, column: string): boolean {
  const name = usualUniqueName(table, [column]);
  if (!Object.hasOwn(state.unique ?? {}, name)) return false;
  const { columns, nullsNotDistinct } = state.unique![name]!;
  const speaks = columns.length === 1 && columns[0] === column && !nullsNotDistinct && !spoken.has(name);
  if (speaks) spoken.add(name);
  return speaks;
}

function speaksForIndex({ table, state, spoken }: Draft, column: string, method: IndexState["method"]): boolean {
  const name = usualIndexName(table, { on: [column] });
  if (!Object.hasOwn(state.indexes ?? {}, name)) return false;
  const index = state.indexes![name]!;
  const isPlain = Object.keys(index).every((key) => key === "on" || key === "method");
  const speaks = isPlain && index.method === method && index.on.length === 1 && index.on[0] === column;
  if (speaks) spoken.add(name);
  return speaks;
}
