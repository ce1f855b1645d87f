import { quote } from "../../orm/identifiers.js";
import { partOf, splitName, usualIndexName, usualUniqueName } from "../../orm/schema/names.js";
import type { IndexPart, IndexState, UniqueState } from "../../orm/schema/state.js";
import { describeIndex, describeUnique } from "../describe.js";
import { escaped, shown } from "../names.js";
import type { Draft } from "./draft.js";
import type { Options } from "./field-call.js";
import { isSingleKey } from "./field-source.js";
import { type Code, listCode, objectCode } from "./source.js";

/**
 * The third argument of `Model`, without the parts that the fields already express; `notes` name the parts that it
 * cannot express.
 */
export function tableOptions(
  draft: Draft,
  properties: ReadonlyMap<string, string>,
): { readonly options: Options; readonly notes: readonly string[] } {
  const { table, state, key, managed, kind } = draft;
  const { schema } = splitName(table);
  const notes =
    state.primaryKeyName === undefined
      ? []
      : [`In the database the primary key is named ${shown(state.primaryKeyName)}.`];
  const unspoken = <T>(members: Readonly<Record<string, T>> = {}): [string, T][] =>
    Object.entries(members).filter(([name]) => !draft.spoken.has(name));
  const unique = unspoken(state.unique).map(([name, each]) => {
    const code = uniqueCode(table, name, each, properties);
    return code ?? leftOut(notes, `unique constraint ${shown(name)} ${describeUnique(each)}`);
  });
  const indexes = unspoken(state.indexes).map(([name, each]) => {
    const code = indexCode(table, name, each, properties);
    return code ?? leftOut(notes, `index ${shown(name)} ${describeIndex(each)}`);
  });
  const checks = unspoken(state.checks).map(([name, sql]) =>
    objectCode([
      ["name", escaped(name)],
      ["sql", escaped(sql)],
    ]),
  );
  const isView = isViewKind(kind);
  const isKeySaid = key.length === 1 && isSingleKey(draft, key[0]!);
  return {
    options: [
      ...(schema === undefined ? [] : [["schema", escaped(schema)] as const]),
      ...(isKeySaid ? [] : [["primaryKey", listCode(key.map((column) => escaped(properties.get(column)!)))] as const]),
      ...option("unique", unique),
      ...option("indexes", indexes),
      ...option("checks", checks),
      ...(state.comment === undefined || isView ? [] : [["comment", escaped(state.comment)] as const]),
      ...(managed || isView ? [] : [["managed", "false"] as const]),
      ...(kind === "materialized view" ? [["materialized", "true"] as const] : []),
    ],
    notes,
  };
}

export function isViewKind(kind: Draft["kind"]): boolean {
  return kind === "view" || kind === "materialized view";
}

function leftOut(notes: string[], what: string): undefined {
  notes.push(`The ${what} is left out: a model cannot say it.`);
}

function option(name: string, items: readonly (Code | undefined)[]): Options {
  const written = items.filter((item) => item !== undefined);
  return written.length === 0 ? [] : [[name, listCode(written)]];
}

function uniqueCode(
  table: string,
  name: string,
  { columns, nullsNotDistinct }: UniqueState,
  properties: ReadonlyMap<string, string>,
): Code | undefined {
  const fields = fieldList(columns, properties);
  const isUsual = name === usualUniqueName(table, columns);
  if (fields === undefined || (isUsual && !nullsNotDistinct)) return fields;
  return objectCode([
    ["fields", fields],
    ...(isUsual ? [] : [["name", escaped(name)] as const]),
    ...(nullsNotDistinct ? [["nullsNotDistinct", "true"] as const] : []),
  ]);
}

function indexCode(
  table: string,
  name: string,
  index: IndexState,
  properties: ReadonlyMap<string, string>,
): Code | undefined {
  const parts = index.on.map(partOf);
  const [{ operatorClass }] = parts as [IndexPart];
  const isSayable = parts.every((part) => part.nulls === undefined && part.operatorClass === operatorClass);
  const subjects = isSayable ? subjectsOf(parts, properties) : undefined;
  const include = index.include ? fieldList(index.include, properties) : undefined;
  if (subjects === undefined || (index.include && include === undefined)) return undefined;
  const isUsual = subjects.expressions === undefined && name === usualIndexName(table, index);
  const options: Options = [
    ...(subjects.fields ? [["fields", subjects.fields] as const] : []),
    ...(subjects.expressions ? [["expressions", subjects.expressions] as const] : []),
    ...(isUsual ? [] : [["name", escaped(name)] as const]),
    ...(index.unique ? [["unique", "true"] as const] : []),
    ...(index.method ? [["method", escaped(index.method)] as const] : []),
    ...(index.nullsNotDistinct ? [["nullsNotDistinct", "true"] as const] : []),
    ...(index.where === undefined ? [] : [["where", escaped(index.where)] as const]),
    ...(include ? [["include", include] as const] : []),
    ...(operatorClass === undefined ? [] : [["operatorClass", escaped(operatorClass)] as const]),
  ];
  const isShort = options.length === 1 && subjects.fields && parts.every((part) => !part.descending);
  return isShort ? subjects.fields : objectCode(options);
}

/** Fields, then expressions. A column after an expression is written as an expression. */
function subjectsOf(
  parts: readonly IndexPart[],
  properties: ReadonlyMap<string, string>,
): { fields?: Code; expressions?: Code } | undefined {
  const firstExpression = parts.findIndex((part) => part.column === undefined);
  const leading = firstExpression === -1 ? parts : parts.slice(0, firstExpression);
  const rest = parts.slice(leading.length);
  if (leading.some((part) => !properties.has(part.column!)) || rest.some((part) => part.descending)) return undefined;
  const fields = leading.map((part) => escaped(`${part.descending ? "-" : ""}${properties.get(part.column!)}`));
  const expressions = rest.map((part) => escaped(part.column === undefined ? part.expression! : quote(part.column)));
  return {
    ...(fields.length > 0 ? { fields: listCode(fields) } : {}),
    ...(expressions.length > 0 ? { expressions: listCode(expressions) } : {}),
  };
}

function fieldList(columns: readonly string[], properties: ReadonlyMap<string, string>): Code | undefined {
  if (!columns.every((column) => properties.has(column))) return undefined;
  return listCode(columns.map((column) => escaped(properties.get(column)!)));
}
