import { checkedOptions } from "../../kit/config.js";
import { is, isPlainObject, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { literal } from "../../orm/identifiers.js";
import { sqlName } from "../../orm/schema/names.js";
import { createEnumSql, createSchemaFor } from "../../orm/schema/render.js";
import type { SchemaState } from "../../orm/schema/state.js";
import { mapValues, only } from "../../orm/schema/tidy.js";
import { MigrationError } from "../errors.js";
import { findEnum, has, missing, renameKey, withEnum } from "../lookup.js";
import type { Operation } from "../operation.js";
import { define } from "./define.js";
import { readQualifiedName } from "./read.js";
import { columnsOfEnum, recreateEnum, staleDefault } from "./recreate-enum.js";
import { renameEnumIn, renameValueIn } from "./rename-enum.js";
import { renameSql } from "./tables.js";

/** Creates an enum type with these values, in this order. */
export function createEnum(name: string, values: readonly string[]): Operation {
  readQualifiedName("the name of an enum", name);
  const list = readValues(name, values);
  return define({
    source: ["createEnum", name, list],
    description: `create enum ${name}`,
    apply(before) {
      checkNewEnum(before, name);
      return withEnum(before, name, list);
    },
    up: () => [...createSchemaFor(name), createEnumSql(name, list)],
    down: () => [dropEnumSql(name)],
  });
}

export function dropEnum(name: string): Operation {
  readQualifiedName("the name of an enum", name);
  return define({
    source: ["dropEnum", name],
    description: `drop enum ${name}`,
    apply(before) {
      findEnum(before, name);
      const [user] = columnsOfEnum(before, name);
      if (user) throw new MigrationError(`${user.table}.${user.column} has the type ${name}: drop or alter it first`);
      return withEnum(before, name, undefined);
    },
    up: () => [dropEnumSql(name)],
    down: (before) => [createEnumSql(name, findEnum(before, name))],
  });
}

export function renameEnum(from: string, to: string): Operation {
  readQualifiedName("the name of an enum", from);
  readQualifiedName("the new name of an enum", to);
  return define({
    source: ["renameEnum", from, to],
    description: `rename enum ${from} to ${to}`,
    apply(before) {
      findEnum(before, from);
      checkNewEnum(before, to);
      return {
        tables: mapValues(before.tables, (table) => renameEnumIn(table, from, to)),
        enums: renameKey(before.enums, from, to),
      };
    },
    up: () => renameSql("TYPE", from, to),
    down: () => renameSql("TYPE", to, from),
  });
}

export interface EnumPosition {
  readonly before?: string;
  readonly after?: string;
}

const readPosition = checkedOptions<EnumPosition>({ before: is.text, after: is.text });

/**
 * Adds a value, at the end or next to another one. PostgreSQL cannot remove a value: undoing creates the type again, which
 * fails while a row has the value. A migration that adds a value cannot use it; the next one can.
 */
export function addEnumValue(name: string, value: string, position: EnumPosition = {}): Operation {
  readQualifiedName("the name of an enum", name);
  readValues(name, [value]);
  const place = readPosition(`addEnumValue of ${name}`, position);
  if (place.before !== undefined && place.after !== undefined) {
    throw new ValueError(`addEnumValue of ${name} takes either 'before' or 'after'`);
  }
  const words = place.before === undefined ? "AFTER" : "BEFORE";
  const beside = place.before ?? place.after;
  return define({
    source: ["addEnumValue", name, value, place],
    description: `add value '${value}' to enum ${name}`,
    apply(before) {
      const values = findEnum(before, name);
      if (values.includes(value)) throw new MigrationError(`the enum ${name} already has the value '${value}'`);
      if (beside !== undefined) checkValue(name, values, beside);
      const index = beside === undefined ? values.length : values.indexOf(beside) + (words === "AFTER" ? 1 : 0);
      return withEnum(before, name, values.toSpliced(index, 0, value));
    },
    up: () => [
      `ALTER TYPE ${sqlName(name)} ADD VALUE ${literal(value)}${beside === undefined ? "" : ` ${words} ${literal(beside)}`}`,
    ],
    down: (before, after) => recreateEnum(name, after, findEnum(before, name)),
  });
}

export function renameEnumValue(name: string, from: string, to: string): Operation {
  readQualifiedName("the name of an enum", name);
  readValues(name, [from, to]);
  const rename = (old: string, now: string): string =>
    `ALTER TYPE ${sqlName(name)} RENAME VALUE ${literal(old)} TO ${literal(now)}`;
  return define({
    source: ["renameEnumValue", name, from, to],
    description: `rename value '${from}' of enum ${name} to '${to}'`,
    apply(before) {
      const values = findEnum(before, name);
      checkValue(name, values, from);
      if (values.includes(to)) throw new MigrationError(`the enum ${name} already has the value '${to}'`);
      const renamed = withEnum(before, name, values.with(values.indexOf(from), to));
      return { ...renamed, tables: mapValues(before.tables, (table) => renameValueIn(table, name, from, to)) };
    },
    up: () => [rename(from, to)],
    down: () => [rename(to, from)],
  });
}

export interface ReplaceOptions {
  /** The new values of rows that have a removed value: `{ gone: "draft" }`. */
  readonly replace?: Readonly<Record<string, string>>;
}

const readReplaceOptions = checkedOptions<ReplaceOptions>({ replace: is.object });

/**
 * Changes the values of a type or their order: creates the type again and converts every column of it. Fails while a row has
 * a removed value that `replace` does not name.
 */
export function alterEnum(name: string, values: readonly string[], options: ReplaceOptions = {}): Operation {
  readQualifiedName("the name of an enum", name);
  const list = readValues(name, values);
  const replace = readReplace(name, list, readReplaceOptions(`alterEnum of ${name}`, options));
  return define({
    source: ["alterEnum", name, list, only({ replace })],
    description: `alter enum ${name} (${list.join(", ")})`,
    apply(before) {
      const old = findEnum(before, name);
      for (const gone of Object.keys(replace ?? {})) checkValue(name, old, gone);
      for (const gone of old.filter((value) => !list.includes(value))) {
        const stale = staleDefault(before, name, gone);
        if (stale) {
          throw new MigrationError(`the default of ${stale} is '${gone}', which ${name} no longer has: alter it first`);
        }
      }
      return withEnum(before, name, list);
    },
    up: (before) => recreateEnum(name, before, list, replace),
    down: (before, after) =>
      recreateEnum(name, after, findEnum(before, name), wayBack(findEnum(before, name), replace)),
  });
}

/** A replacement that is new in the type is replaced by the old value again. */
function wayBack(old: readonly string[], replace: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(replace)
      .filter(([, now]) => !old.includes(now))
      .map(([gone, now]) => [now, gone]),
  );
}

function readValues(name: string, given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw new ValueError(`the enum ${name} takes a list of values, not ${show(given)}`);
  }
  for (const value of given) {
    if (typeof value !== "string" || value === "" || Buffer.byteLength(value) > 63) {
      throw new ValueError(`a value of the enum ${name} takes text of 1 to 63 bytes, not ${show(value)}`);
    }
  }
  const twice = given.find((value, index) => given.indexOf(value) !== index);
  if (twice !== undefined) throw new ValueError(`the enum ${name} has the value '${twice}' twice`);
  return [...(given as string[])];
}

function readReplace(
  name: string,
  values: readonly string[],
  { replace }: ReplaceOptions,
): Readonly<Record<string, string>> | undefined {
  if (replace === undefined) return undefined;
  if (!isPlainObject(replace)) throw new ValueError(`'replace' in alterEnum of ${name} takes an object`);
  for (const [gone, now] of Object.entries(replace)) {
    if (values.includes(gone)) throw new ValueError(`alterEnum of ${name} keeps '${gone}' and cannot replace it`);
    checkValue(name, values, now);
  }
  return Object.keys(replace).length === 0 ? undefined : replace;
}

function checkValue(name: string, values: readonly string[], value: string): void {
  if (!values.includes(value)) throw missing(`the enum ${name} has no value '${value}'`, value, values);
}

function checkNewEnum(state: SchemaState, name: string): void {
  if (has(state.enums, name)) throw new MigrationError(`there is already an enum '${name}'`);
}

function dropEnumSql(name: string): string {
  return `DROP TYPE ${sqlName(name)}`;
}
