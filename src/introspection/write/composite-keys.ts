import { camelWords, pascalCase, singularWords, wordsOf } from "../../orm/model/words.js";
import { splitName, usualForeignKeyName, usualIndexName, usualUniqueName } from "../../orm/schema/names.js";
import type { ForeignKeyState } from "../../orm/schema/state.js";
import { escaped } from "../names.js";
import type { Draft } from "./draft.js";
import { call, type Options, yes } from "./field-call.js";
import { type Code, listCode } from "./source.js";

/** A foreign key over several columns. */
export interface CompositeKey {
  readonly target: Draft;
  readonly key: ForeignKeyState;
  /** True if the columns are unique together: one-to-one. */
  readonly one: boolean;
  /** The name of the constraint, if it is not the usual one. */
  readonly name: string | undefined;
}

/** The reason why no field can express a foreign key over several columns. */
export function reasonAgainstComposite(
  draft: Draft,
  key: ForeignKeyState,
  target: Draft | undefined,
): string | undefined {
  if (target === undefined) return "there is no model of its table";
  const isNamed =
    key.columns.every((name) => draft.columns.has(name)) && key.references.every((name) => target.columns.has(name));
  if (!isNamed) return "a model cannot name its columns";
  if (key.onDeleteColumns !== undefined && key.onDelete !== "set null")
    return "it sets only some columns to their default";
  const set = key.onDelete === "set null" ? (key.onDeleteColumns ?? key.columns) : [];
  return set.every((name) => isNullable(draft, name)) ? undefined : "it sets a column to null that cannot be";
}

export function compositeKeyOf(draft: Draft, name: string, key: ForeignKeyState, target: Draft): CompositeKey {
  const { columns } = key;
  const uniqueName = usualUniqueName(draft.table, columns);
  const unique = new Map(Object.entries(draft.state.unique ?? {})).get(uniqueName);
  const isUnique = unique?.columns.join("\0") === columns.join("\0") && !unique.nullsNotDistinct;
  if (isUnique) draft.spoken.add(uniqueName);
  const isKey = draft.key.join("\0") === columns.join("\0");
  const usual = name === usualForeignKeyName(draft.table, columns);
  return {
    target,
    key,
    one: isUnique || isKey,
    name: usual ? undefined : name,
  };
}

/** The names for the field, the best first: after the other table, or also after the columns. */
export function compositeNames({ target, key }: CompositeKey): string[] {
  const base = camelWords(singularWords(wordsOf(splitName(target.table).name)));
  return [base, `${base}By${pascalCase(key.columns.flatMap(wordsOf))}`];
}

/** The field of the foreign key. `nameOf` and `targetNameOf` give the fields of columns. */
export function compositeCode(
  draft: Draft,
  { target, key, one, name }: CompositeKey,
  targetClass: string,
  nameOf: (column: string) => string,
  targetNameOf: (column: string) => string,
): Code {
  const list = (names: readonly string[]): Code => listCode(names.map(escaped));
  const begins = key.columns.every((column, at) => draft.key[at] === column);
  const refersToKey = target.key.join("\0") === key.references.join("\0");
  const options: Options = [
    ...(refersToKey ? [] : [["references", list(key.references.map(targetNameOf))] as const]),
    ...(key.columns.some((column) => isNullable(draft, column)) ? yes("null") : []),
    ...(one ? yes("unique") : begins || speaksForIndex(draft, key.columns) ? [] : [["index", "false"] as const]),
    ...(key.onDelete === "cascade" ? [] : [["onDelete", escaped(key.onDelete ?? "no action")] as const]),
    ...(key.onUpdate === undefined ? [] : [["onUpdate", escaped(key.onUpdate)] as const]),
    ...(key.onDeleteColumns === undefined ? [] : [["setNull", list(key.onDeleteColumns.map(nameOf))] as const]),
    ...(key.matchFull ? yes("matchFull") : []),
    ...(key.deferred ? yes("deferred") : []),
    ...(name === undefined ? [] : [["constraint", escaped(name)] as const]),
  ];
  return call("field.compositeForeignKey", [`() => ${targetClass}`, list(key.columns.map(nameOf))], options);
}

/** A column that is only treated as a key can be nullable in the database, but not in the model. */
function isNullable({ key, columns }: Draft, column: string): boolean {
  return columns.get(column)!.state.nullable === true && !key.includes(column);
}

function speaksForIndex({ table, state, spoken }: Draft, columns: readonly string[]): boolean {
  const name = usualIndexName(table, { on: columns });
  const index = new Map(Object.entries(state.indexes ?? {})).get(name);
  const speaks =
    index !== undefined && Object.keys(index).join() === "on" && index.on.join("\0") === columns.join("\0");
  if (speaks) spoken.add(name);
  return speaks;
}
