import { checkIdentifier } from "../../orm/identifiers.js";
import type { ColumnKind } from "../../orm/meta.js";
import type { SchemaState } from "../../orm/schema/state.js";
import { typeName } from "../../orm/schema/type-names.js";
import { escaped } from "../names.js";
import { type Code, listCode, objectCode } from "./source.js";

/** The maker of fields for a type of the database, and what it is given. */
export interface TypeSource {
  readonly maker: MakerName;
  /** The arguments before the options: the items of an array, the values of an enum. */
  readonly before: readonly Code[];
  /** Options that belong to the type. */
  readonly options: readonly (readonly [name: string, value: Code])[];
  /** In TypeScript, what the maker cannot infer. */
  readonly generic?: string;
  readonly choices?: readonly string[];
}

/** The makers are called after the kinds of columns. */
export type MakerName = ColumnKind;

/** Enums by the spelling of their types, with the code of their values. */
export type EnumSources = ReadonlyMap<
  string,
  { readonly name: string; readonly values: readonly string[]; readonly code: Code }
>;

/** Those that `field.enum` takes: in the schema that the search path leads to, with values that are not empty. */
export function writableEnums(enums: SchemaState["enums"]): [type: string, name: string, values: readonly string[]][] {
  return Object.entries(enums)
    .filter(([name, values]) => !name.includes(".") && values.length > 0 && !values.includes(""))
    .map(([name, values]) => [typeName(name), name, values]);
}

const plainMakers = new Map<string, MakerName>([
  ["smallint", "smallInt"],
  ["integer", "int"],
  ["bigint", "bigInt"],
  ["double precision", "float"],
  ["numeric", "decimal"],
  ["boolean", "bool"],
  ["text", "text"],
  ["uuid", "uuid"],
  ["jsonb", "json"],
  ["date", "date"],
  ["time without time zone", "time"],
  ["interval", "interval"],
  ["bytea", "bytes"],
  ["tsvector", "searchVector"],
]);

/** Undefined for a type that a model cannot name. */
export function typeSource(type: string, enums: EnumSources, typed: boolean): TypeSource | undefined {
  if (type.endsWith("[]")) return arraySource(type.slice(0, -2), enums, typed);
  const plain = plainMakers.get(type);
  if (plain !== undefined) return simple(plain);
  const known = enums.get(type);
  if (known !== undefined) return enumSource(known.values, known.code, [["name", escaped(known.name)]]);
  const length = /^varchar\((\d+)\)$/.exec(type)?.[1];
  if (length !== undefined) return simple("char", [["maxLength", length]]);
  const [, precision, scale] = /^numeric\((\d+), (\d+)\)$/.exec(type) ?? [];
  if (precision !== undefined)
    return simple("decimal", [
      ["precision", precision],
      ["scale", scale!],
    ]);
  const timestamp = /^timestamp(?:\(([0-5])\))? (with|without) time zone$/.exec(type);
  if (timestamp) return timestampSource(timestamp[2] === "with", Number(timestamp[1] ?? 6));
  if (type === "time with time zone") return simple("time", [["timezone", "true"]]);
  return customSource(type);
}

function timestampSource(isMoment: boolean, precision: number): TypeSource {
  return simple("datetime", [
    ...(isMoment ? [] : [["timezone", "false"] as const]),
    ...(precision === (isMoment ? 3 : 6) ? [] : [["precision", String(precision)] as const]),
  ]);
}

export function enumSource(
  values: readonly string[],
  code: Code,
  options: readonly (readonly [string, Code])[] = [],
): TypeSource {
  return { maker: "enum", before: [code], options, choices: values };
}

export function valuesCode(values: readonly string[]): Code {
  return listCode(values.map(escaped));
}

function simple(maker: MakerName, options: TypeSource["options"] = []): TypeSource {
  return { maker, before: [], options };
}

function arraySource(itemType: string, enums: EnumSources, typed: boolean): TypeSource | undefined {
  const item = typeSource(itemType, enums, typed);
  return item && { maker: "array", before: [fieldCode(item, [], typed)], options: [] };
}

/** The values of any other type are the text that PostgreSQL writes, unless JavaScript has something better. */
function customSource(type: string): TypeSource | undefined {
  if (!isIdentifier(type)) return undefined;
  const { generic, codec } = codecs.find(({ of }) => of.test(type)) ?? { generic: "string", codec: [] };
  return { maker: "custom", before: [objectCode([["sqlType", escaped(type)], ...codec])], options: [], generic };
}

const codecs: readonly {
  readonly of: RegExp;
  readonly generic: string;
  readonly codec: readonly (readonly [string, Code])[];
}[] = [
  { of: /^real$/, generic: "number", codec: [["decode", "Number"]] },
  {
    of: /^json$/,
    generic: "Json",
    codec: [
      ["encode", "JSON.stringify"],
      ["decode", "JSON.parse"],
    ],
  },
  { of: /^timestamp\(6\) with time zone$/, generic: "Date", codec: [["decode", "(text) => new Date(text)"]] },
];

/** As field.custom checks it. */
export function isIdentifier(type: string): boolean {
  try {
    checkIdentifier("", type);
    return true;
  } catch {
    return false;
  }
}

/** The call of the maker. */
export function fieldCode(
  source: TypeSource,
  options: readonly (readonly [name: string, value: Code])[],
  typed: boolean,
): Code {
  const all = [...source.options, ...options];
  const given = [...source.before, ...(all.length === 0 ? [] : [objectCode(all)])];
  const generic = typed && source.generic !== undefined ? `<${source.generic}>` : "";
  return [
    `field.${source.maker}${generic}(`,
    ...given.flatMap((each, index) => (index === 0 ? [each] : [", ", each])),
    ")",
  ];
}
