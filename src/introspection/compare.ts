import { primaryKeyName } from "../orm/schema/names.js";
import type { ColumnState, SchemaState, TableState, ViewState } from "../orm/schema/state.js";
import { tidyState } from "../orm/schema/tidy.js";
import { describeForeignKey, describeIndex, describeKey, describeUnique } from "./describe.js";
import { legible, shown } from "./names.js";

/**
 * Lists the differences between a schema and the expected one, one line each. Expressions are compared as text:
 * `normalizeState` first writes them as PostgreSQL does.
 */
export function compareStates(actual: SchemaState, expected: SchemaState): string[] {
  const [a, e] = [tidyState(actual), tidyState(expected)];
  return [
    ...pairs(a.enums, e.enums).flatMap(([name, values, wanted]) => compareEnum(shown(name), values, wanted)),
    ...pairs(a.tables, e.tables).flatMap(([name, table, wanted]) =>
      compareTable(name, table, wanted).map((line) => `table ${shown(name)}: ${line}`),
    ),
    // Other views are none of the models' business.
    ...pairs(a.views ?? {}, e.views ?? {}).flatMap(([name, view, wanted]) =>
      wanted === undefined ? [] : compareView(view, wanted).map((line) => `view ${shown(name)}: ${line}`),
    ),
  ];
}

function compareEnum(
  name: string,
  actual: readonly string[] | undefined,
  expected: readonly string[] | undefined,
): string[] {
  const absence = presence(`enum ${name}`, actual, expected);
  if (absence.length > 0) return absence;
  const list = (values: readonly string[]): string => values.map(shown).join(", ");
  const [is, wanted] = [list(actual!), list(expected!)];
  return is === wanted ? [] : [`enum ${name} has the values ${is}, expected ${wanted}`];
}

function compareTable(name: string, actual: TableState | undefined, expected: TableState | undefined): string[] {
  if (actual === undefined) return ["is missing"];
  if (expected === undefined) return ["is not expected"];
  return [
    ...pairs(actual.columns, expected.columns).flatMap(([column, is, wanted]) => compareColumn(column, is, wanted)),
    ...comparePrimaryKeys(name, actual, expected),
    ...compareNamed("unique constraint", actual.unique, expected.unique, describeUnique),
    ...compareNamed("foreign key", actual.foreignKeys, expected.foreignKeys, describeForeignKey),
    ...compareNamed("check", actual.checks, expected.checks, legible),
    ...compareNamed("index", actual.indexes, expected.indexes, describeIndex),
    ...compareText("has", "comment", actual.comment, expected.comment),
  ];
}

function compareView(actual: ViewState | undefined, expected: ViewState): string[] {
  if (actual === undefined) return ["is missing"];
  if (!actual.materialized !== !expected.materialized)
    return [
      `is ${actual.materialized ? "materialized, expected one that is not" : "not materialized, expected one that is"}`,
    ];
  return [
    ...(actual.as === expected.as ? [] : ["has another definition"]),
    ...compareNamed("index", actual.indexes, expected.indexes, describeIndex),
  ];
}

function compareColumn(name: string, actual: ColumnState | undefined, expected: ColumnState | undefined): string[] {
  const column = `column ${shown(name)}`;
  const absence = presence(column, actual, expected);
  if (absence.length > 0) return absence;
  const [is, wanted] = [actual!, expected!];
  const lines: string[] = [];
  if (is.type !== wanted.type) lines.push(`${column} is ${legible(is.type)}, expected ${legible(wanted.type)}`);
  if (is.nullable !== wanted.nullable)
    lines.push(`${column} ${is.nullable ? "allows null, expected not null" : "is not null, expected to allow null"}`);
  if (is.identity !== wanted.identity)
    lines.push(`${column} ${is.identity ? "is an identity, expected none" : "is no identity, expected one"}`);
  return [
    ...lines,
    ...compareText(`${column} has`, "default", is.default, wanted.default),
    ...compareText(`${column} has`, "generating expression", is.generated, wanted.generated),
    ...compareText(`${column} has`, "collation", is.collation, wanted.collation),
    ...compareText(`${column} has`, "comment", is.comment, wanted.comment),
  ];
}

function compareText(
  subject: string,
  what: string,
  actual: string | undefined,
  expected: string | undefined,
): string[] {
  if (actual === expected) return [];
  const is = actual === undefined ? `no ${what}` : `the ${what} ${legible(actual)}`;
  return [`${subject} ${is}, expected ${expected === undefined ? "none" : legible(expected)}`];
}

function comparePrimaryKeys(table: string, actual: TableState, expected: TableState): string[] {
  const told = (key: readonly string[] | undefined): string => (key === undefined ? "none" : describeKey(key));
  const [is, wanted] = [told(actual.primaryKey), told(expected.primaryKey)];
  if (is !== wanted) return [`the primary key is ${is}, expected ${wanted}`];
  const [name, wantedName] = [primaryKeyName(table, actual), expected.primaryKeyName];
  // Models give the key no name: any will do.
  if (wantedName === undefined || name === wantedName) return [];
  return [`the primary key is named ${shown(name)}, expected ${shown(wantedName)}`];
}

/** Compares things by name. One that exists under another name is reported as such. */
function compareNamed<T>(
  kind: string,
  actual: Readonly<Record<string, T>> = {},
  expected: Readonly<Record<string, T>> = {},
  describe: (thing: T) => string,
): string[] {
  const all = pairs(actual, expected);
  const misnamed = all.filter(([, , wanted]) => wanted === undefined);
  const lines: string[] = [];
  for (const [name, is, wanted] of all) {
    if (wanted === undefined) continue;
    const twin = misnamed.findIndex(([, other]) => is === undefined && describe(other!) === describe(wanted));
    if (twin !== -1) {
      const [[other]] = misnamed.splice(twin, 1) as [(typeof misnamed)[number]];
      lines.push(`${kind} ${shown(other)} has this name, expected ${shown(name)}`);
    } else if (is === undefined) {
      lines.push(`${kind} ${shown(name)} is missing: ${describe(wanted)}`);
    } else if (describe(is) !== describe(wanted)) {
      lines.push(`${kind} ${shown(name)} is ${describe(is)}, expected ${describe(wanted)}`);
    }
  }
  return [...lines, ...misnamed.map(([name, is]) => `${kind} ${shown(name)} is not expected: ${describe(is!)}`)];
}

function presence(subject: string, actual: unknown, expected: unknown): string[] {
  if (actual === undefined) return [`${subject} is missing`];
  return expected === undefined ? [`${subject} is not expected`] : [];
}

/** The members of both records by name. Names such as `constructor` are no members unless they are given. */
function pairs<T>(
  actual: Readonly<Record<string, T>>,
  expected: Readonly<Record<string, T>>,
): [name: string, actual: T | undefined, expected: T | undefined][] {
  const [a, e] = [new Map(Object.entries(actual)), new Map(Object.entries(expected))];
  return [...new Set([...e.keys(), ...a.keys()])].map((name) => [name, a.get(name), e.get(name)]);
}
