/** Functions that turn the options of a field into its definition. */

import { checkOption, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { checkIdentifier } from "../identifiers.js";
import type { ColumnType } from "../meta.js";
import * as columnTypes from "./column-types.js";
import { type ColumnOptions, FieldDefinition, type FieldOptions, type FieldSpec } from "./definition.js";
import { ofComposite, ofRelation, plain } from "./field-options.js";
import type { CustomType } from "./field-types.js";
import { hasRules, type Rules, refusalOf, withRules } from "./rules.js";

export function customField(type: CustomType<unknown>, options?: FieldOptions<unknown>): unknown {
  return column(customType(type), plain("field.custom", options));
}

export function jsonField(options?: FieldOptions<unknown>): unknown {
  return column(columnTypes.json, plain("field.json", options));
}

export function column<F>(
  type: ColumnType,
  options: FieldOptions<never> | object,
  more: { auto?: boolean; version?: boolean } = {},
): F {
  const given = options as ColumnOptions;
  const values = ["default", "defaultSql", "generated", "autoNow", "autoNowAdd"] as const;
  const set = values.filter((name) => given[name] !== undefined && given[name] !== false);
  if (set.length > 1) throw new ValueError(`a field cannot have both '${set[0]}' and '${set[1]}'`);
  if (given.primaryKey === true && given.null === true) throw new ValueError("a primary key cannot be null");
  const ruled = withRules(type, given as Rules);
  checkDefault(ruled, given.default);
  return define({ form: "column", type: ruled, options: given, ...more });
}

function checkDefault(type: ColumnType, value: unknown): void {
  if (!hasRules(type) || value === undefined || value === null || typeof value === "function") return;
  const refusal = refusalOf(type, value, type.encode ? type.encode(value) : value);
  if (refusal !== undefined) throw new ValueError(`option 'default': ${refusal.msg}`);
}

export function toOne<F>(owner: string, target: () => unknown, options: unknown, one: boolean): F {
  checkTarget(owner, target);
  const given = ofRelation(owner, options);
  if (given.onDelete === "set null" && given.null !== true)
    throw new ValueError(`${owner}: onDelete 'set null' needs null: true`);
  return define({ form: "toOne", target, one, options: given });
}

export function toOneOver<F>(target: () => unknown, fields: unknown, options: unknown): F {
  const owner = "field.compositeForeignKey";
  checkTarget(owner, target);
  checkOption(owner, "fields", fields, is.strings);
  const names = [...(fields as readonly string[])];
  if (names.length < 2) throw new ValueError(`${owner} takes two fields or more: use field.foreignKey for one`);
  if (new Set(names).size !== names.length) throw new ValueError(`${owner} has the same field twice`);
  const given = ofComposite(owner, options);
  if (given.references !== undefined && given.references.length !== names.length)
    throw new ValueError(`${owner} has ${names.length} fields but refers to ${given.references.length}`);
  if (given.setNull !== undefined && given.onDelete !== "set null")
    throw new ValueError(`${owner}: 'setNull' needs onDelete: "set null"`);
  if (given.setNull !== undefined && (given.setNull.length === 0 || new Set(given.setNull).size < given.setNull.length))
    throw new ValueError(`${owner}: 'setNull' takes one field or more, each once`);
  return define({ form: "composite", target, fields: names, options: given });
}

export function checkTarget(owner: string, target: unknown): void {
  checkOption(owner, "target", target, (value) =>
    typeof value === "function" && !("meta" in value) ? undefined : "a function that returns the model: () => Author",
  );
}

/** The type of a field exists only for the compiler. At run time a field is its definition. */
export function define<F>(spec: FieldSpec): F {
  return new FieldDefinition(spec) as F;
}

function customType(type: CustomType<unknown>): ColumnType {
  const { sqlType, encode, decode, toJson } = type;
  return {
    kind: "custom",
    sqlType: checkIdentifier("the sqlType of field.custom", sqlType),
    json: {},
    selectSql: (name) => `${name}::text`,
    ...(encode ? { encode } : {}),
    ...(decode ? { decode: (value: unknown) => decode(String(value)) } : {}),
    ...(toJson ? { toJson } : {}),
    jsonSql: (name) => `${name}::text`,
  };
}
