import { isDeepStrictEqual } from "node:util";
import type { SchemaState, TableState } from "../../orm/schema/state.js";
import { holdsText } from "../files/sql-text.js";
import { has, own } from "../lookup.js";
import { columnsOfEnum } from "../operations/recreate-enum.js";
import { op } from "../operations.js";
import type { Journal } from "./journal.js";
import type { Asker } from "./questions.js";

export function createEnums(journal: Journal, to: SchemaState): void {
  for (const [name, values] of Object.entries(to.enums)) {
    if (!has(journal.state.enums, name)) journal.add(op.createEnum(name, values));
  }
}

export function dropEnums(journal: Journal, to: SchemaState): void {
  for (const name of Object.keys(journal.state.enums)) if (!has(to.enums, name)) journal.add(op.dropEnum(name));
}

/** Adds new values to the type. For any other change, and for a value that is used at once, the type is made again. */
export function changeEnums(journal: Journal, to: SchemaState, ask: Asker): void {
  for (const [name, values] of Object.entries(to.enums)) {
    const old = own(journal.state.enums, name);
    if (old === undefined || isDeepStrictEqual(old, values)) continue;
    const added = values.filter((value) => !old.includes(value));
    const kept = values.filter((value) => old.includes(value));
    if (isDeepStrictEqual(kept, old) && !added.some((value) => isUsed(to, name, value, ask.texts)))
      addValues(journal, name, values);
    else makeAnew(journal, name, old, values, ask);
  }
}

function addValues(journal: Journal, name: string, values: readonly string[]): void {
  for (const [index, value] of values.entries()) {
    const current = journal.state.enums[name]!;
    if (current[index] === value) continue;
    journal.add(op.addEnumValue(name, value, index < current.length ? { before: current[index]! } : {}));
  }
}

function makeAnew(journal: Journal, name: string, old: readonly string[], values: readonly string[], ask: Asker): void {
  const gone = old.filter((value) => !values.includes(value));
  for (const { table, column, state } of columnsOfEnum(journal.state, name)) {
    if (gone.some((value) => holdsText(state.default, value))) {
      journal.add(op.alterColumn(table, column, { default: null }));
    }
  }
  const used = columnsOfEnum(journal.state, name).length > 0;
  const replaced = used
    ? gone.flatMap((value) => {
        const now = ask.text({ kind: "replaceEnumValue", enum: name, value, values });
        return now === undefined ? [] : [[value, now] as const];
      })
    : [];
  journal.add(op.alterEnum(name, values, replaced.length > 0 ? { replace: Object.fromEntries(replaced) } : {}));
}

/** PostgreSQL refuses to use a value in the transaction that added it: in a default, a check, a condition. */
function isUsed(to: SchemaState, name: string, value: string, fills: readonly string[]): boolean {
  const tables = new Set(columnsOfEnum(to, name).map(({ table }) => table));
  const expressions = [...tables].flatMap((table) => expressionsOf(to.tables[table]!));
  const text = value.replaceAll("'", "''");
  return [...expressions, ...fills].some((sql) => sql.includes(text));
}

function expressionsOf(table: TableState): string[] {
  return [
    ...Object.values(table.columns).flatMap((column) => [column.default ?? [], column.generated ?? []].flat()),
    ...Object.values(table.checks ?? {}),
    ...Object.values(table.indexes ?? {}).flatMap(({ where, on }) => [
      ...(where === undefined ? [] : [where]),
      ...on.flatMap((part) => (typeof part === "string" ? [] : (part.expression ?? []))),
    ]),
  ];
}
