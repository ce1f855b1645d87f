/** The names of tables, and the default names of constraints and indexes. */

import { qualified, quote, shortName } from "../identifiers.js";
import type { IndexPart, IndexState, TableState } from "./state.js";

/** `shop.lines` is the table `lines` of the schema `shop`. */
export function splitName(name: string): { readonly schema: string | undefined; readonly name: string } {
  const dot = name.indexOf(".");
  return dot < 0 ? { schema: undefined, name } : { schema: name.slice(0, dot), name: name.slice(dot + 1) };
}

export function joinName(schema: string | undefined, name: string): string {
  return schema === undefined ? name : `${schema}.${name}`;
}

/** The name of a table or a type as it stands in SQL. */
export function sqlName(name: string): string {
  const parts = splitName(name);
  return qualified(parts.schema, parts.name);
}

/** An index is in the schema of its table. */
export function sqlIndexName(table: string, index: string): string {
  return qualified(splitName(table).schema, index);
}

export function columnList(columns: readonly string[]): string {
  return columns.map(quote).join(", ");
}

export function primaryKeyName(table: string, state: TableState): string {
  return state.primaryKeyName ?? usualPrimaryKeyName(table);
}

export function usualPrimaryKeyName(table: string): string {
  return shortName(`${splitName(table).name}_pkey`);
}

export function usualUniqueName(table: string, columns: readonly string[]): string {
  return shortName(`${splitName(table).name}_${columns.join("_")}_key`);
}

export function usualForeignKeyName(table: string, columns: readonly string[]): string {
  return shortName(`${splitName(table).name}_${columns.join("_")}_fkey`);
}

export function usualIndexName(table: string, index: Pick<IndexState, "on" | "unique">): string {
  const words = index.on.map((part) => partOf(part).column ?? partOf(part).expression!.replace(/\W+/g, "_"));
  return shortName(
    `${splitName(table).name}_${words.join("_").replace(/(?<!_)_+$/, "")}_${index.unique ? "key" : "idx"}`,
  );
}

/** The endings of the names of checks on one column: `check` for one written by hand, `choices` for a text enum. */
export const checkEndings = ["check", "choices"] as const;

export function usualCheckName(table: string, column: string, ending: (typeof checkEndings)[number]): string {
  return shortName(`${splitName(table).name}_${column}_${ending}`);
}

export function partOf(part: string | IndexPart): IndexPart {
  return typeof part === "string" ? { column: part } : part;
}
