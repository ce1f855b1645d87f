/** The route options that describe a list of rows in the OpenAPI document: the parameters of clients, and the page. */

import { type DescribedSchema, jsonSchemaSymbol } from "../../validation/body-validator.js";
import { type JsonSchema, jsonSchemaOf } from "../../validation/json-schema.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import { modelSchema, typeSchema } from "../body/model-schema.js";
import { noField } from "../compile/scope.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import { type ListOptions, type ListSettings, listFields } from "./page-input.js";

export interface ListRouteOptions {
  readonly response: DescribedSchema;
  readonly responses: { readonly 400: string };
  readonly openapi: { readonly parameters: readonly JsonSchema[] };
}

/**
 * Route options that document a handler with `filterFrom`, `orderFrom` and `pageFrom`. As with every `response`, members of
 * plain rows that are not described are not sent.
 */
export function listOptions(model: { readonly meta: ModelMeta }, options?: ListOptions): ListRouteOptions {
  const settings = listFields.read([options]);
  return {
    response: { [jsonSchemaSymbol]: () => listSchema(model.meta, settings) },
    responses: { 400: "A parameter is not valid." },
    openapi: {
      // Models may refer to each other before all of them exist, so this waits until the document is made.
      get parameters() {
        return parametersOf(model.meta, settings);
      },
    },
  };
}

function listSchema(meta: ModelMeta, { row, by, pages }: ListSettings): { name: string; schema: JsonSchema } {
  const { name, schema } = row === undefined ? modelSchema(meta, "output") : rowSchema(row, `${meta.name}Row`);
  const { $defs, $schema: _, ...plain } = schema as { $defs?: JsonSchema } & JsonSchema;
  const items = { type: "array", items: { $ref: `#/$defs/${name}` } };
  const shared = { ...$defs, [name]: plain };
  if (!pages) return { name: `${meta.name}List`, schema: { ...items, $defs: shared } };
  const cursor = { type: ["string", "null"] };
  const members = by === "key" ? { next: cursor, previous: cursor } : numbered;
  const properties = { items, ...members };
  const page = { type: "object", properties, required: Object.keys(properties), $defs: shared };
  return { name: `${meta.name}${by === "key" ? "KeysetPage" : "Page"}`, schema: page };
}

function rowSchema(row: StandardSchema | DescribedSchema, name: string): { name: string; schema: JsonSchema } {
  if (jsonSchemaSymbol in row) return row[jsonSchemaSymbol]("output");
  return { name, schema: jsonSchemaOf(row, "output") ?? {} };
}

const integer = { type: "integer" };
const boolean = { type: "boolean" };
const numbered = {
  page: integer,
  pageSize: integer,
  total: integer,
  pages: integer,
  hasNext: boolean,
  hasPrevious: boolean,
};

function parametersOf(
  meta: ModelMeta,
  { filters, orders, by, pages, size, maxSize, maxPage }: ListSettings,
): JsonSchema[] {
  const text = { type: "string" };
  const order = `One or more of ${orders.join(", ")}, with commas in between; a - in front reverses one.`;
  const named: [name: string, schema: JsonSchema, description?: string][] = [
    ...filters.map((key): [string, JsonSchema] => [key, filterSchema(meta, key)]),
    ...(orders.length === 0 ? [] : [["order", text, order] as [string, JsonSchema, string]]),
  ];
  if (pages) {
    if (by === "key")
      named.push(["after", text, "`next` of another page."], ["before", text, "`previous` of another page."]);
    else
      named.push([
        "page",
        { ...integer, minimum: 1, ...(maxPage < Number.MAX_SAFE_INTEGER && { maximum: maxPage }), default: 1 },
      ]);
    named.push(["size", { ...integer, minimum: 1, maximum: maxSize, default: size }]);
  }
  return named.map(([name, schema, description]) => ({
    name,
    in: "query",
    ...(description !== undefined && { description }),
    required: false,
    schema,
  }));
}

const comparisons = ["", "exact", "ne", "gt", "gte", "lt", "lte"];

/** The values of a filter. A lookup of a part, such as the year of a date, takes any. */
function filterSchema(meta: ModelMeta, key: string): JsonSchema {
  const { column, rest } = columnAt(meta, key.split("__"));
  const lookup = rest.join("__");
  if (lookup === "isnull") return boolean;
  const schema = column === undefined ? {} : typeSchema(column.type, "input");
  if (comparisons.includes(lookup)) return schema;
  if (lookup === "in") return { type: "array", items: schema };
  return /^i?(?:exact|contains|startswith|endswith|regex)$/.test(lookup) ? { type: "string" } : {};
}

/** The column that a filter leads to, if it is one, and the lookup behind it. */
function columnAt(
  meta: ModelMeta,
  path: readonly string[],
): { column: ColumnMeta | undefined; rest: readonly string[] } {
  const [name = "", ...rest] = path;
  const relation = meta.relations.get(name);
  if (relation === undefined) {
    const column = name === "pk" ? onlyOne(meta.primaryKey) : meta.column(name);
    if (column === undefined && name !== "pk") throw noField(meta, name);
    return { column, rest };
  }
  const { target } = relation;
  const next = rest[0] ?? "";
  if (next === "pk" || target.relations.has(next) || target.column(next) !== undefined) return columnAt(target, rest);
  return { column: onlyOne(target.primaryKey), rest };
}

function onlyOne(columns: readonly ColumnMeta[]): ColumnMeta | undefined {
  return columns.length === 1 ? columns[0] : undefined;
}
