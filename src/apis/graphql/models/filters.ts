import type { ColumnMeta } from "../../../orm/meta.js";
import type { ConditionNode } from "../../../orm/nodes.js";
import { GraphQLError } from "../graphql-js.js";

/** The comparisons of a filter by type, with the lookup of each. */
const lookups: Readonly<Record<string, string>> = {
  eq: "",
  ne: "",
  in: "__in",
  gt: "__gt",
  gte: "__gte",
  lt: "__lt",
  lte: "__lte",
  contains: "__contains",
  icontains: "__icontains",
  startsWith: "__startswith",
  istartsWith: "__istartswith",
  endsWith: "__endswith",
  iendsWith: "__iendswith",
  isNull: "__isnull",
};

const ordered = new Set(["Int", "Float", "BigInt", "DateTime"]);

/** The input type of a filter for a type of column, as GraphQL; null if columns of the type cannot be filtered. */
export function filterInput(type: string, isEnum: boolean): { readonly name: string; readonly text: string } | null {
  if (type === "JSON" || type.startsWith("[")) return null;
  const name = `${type}Filter`;
  const fields = [`eq: ${type}`, `ne: ${type}`, `in: [${type}!]`];
  if (ordered.has(type) || type === "String")
    fields.push(...["gt", "gte", "lt", "lte"].map((each) => `${each}: ${type}`));
  if (type === "String" && !isEnum) {
    const texts = ["contains", "icontains", "startsWith", "istartsWith", "endsWith", "iendsWith"];
    fields.push(...texts.map((each) => `${each}: String`));
  }
  fields.push("isNull: Boolean");
  return { name, text: `input ${name} {\n  ${fields.join("\n  ")}\n}\n` };
}

/** Conditions in one filter, with the lists and objects around them. */
const maxConditions = 100;
/** Values in the lists of one filter. */
const maxValues = 1000;

/** The condition of a filter. Its keys are those of the schema; their number is bounded here. */
export function conditionOf(filter: unknown, columns: ReadonlyMap<string, ColumnMeta>): ConditionNode {
  let left = maxConditions;
  let valuesLeft = maxValues;
  const count = (): void => {
    if (--left < 0) throw badInput(`A filter has at most ${maxConditions} conditions.`);
  };
  const visit = (given: unknown): ConditionNode => {
    const children: ConditionNode[] = [];
    for (const [name, value] of Object.entries((given ?? {}) as Record<string, unknown>)) {
      if (value === null || value === undefined) continue;
      count();
      if (name === "and" || name === "or") children.push({ type: name, children: (value as unknown[]).map(visitItem) });
      else if (name === "not") children.push({ type: "not", child: visit(value) });
      else children.push(...comparisons(columns.get(name)!, value as Record<string, unknown>));
    }
    return { type: "and", children };
  };
  const visitItem = (given: unknown): ConditionNode => {
    count();
    return visit(given);
  };
  const comparisons = (column: ColumnMeta, given: Record<string, unknown>): ConditionNode[] =>
    Object.entries(given).flatMap(([name, value]): ConditionNode[] => {
      if (value === undefined || (value === null && name !== "eq" && name !== "ne")) return [];
      count();
      if (Array.isArray(value) && (valuesLeft -= value.length) < 0) {
        throw badInput(`The lists of a filter have at most ${maxValues} values.`);
      }
      const key = `${column.attribute}${lookups[name] ?? ""}`;
      const condition: ConditionNode = { type: "lookup", key, value: columnValue(column, value) };
      return [name === "ne" ? { type: "not", child: condition } : condition];
    });
  return visit(filter);
}

/** A value of a client for a column. An id is a string in GraphQL, whatever its column is. */
export function columnValue(column: ColumnMeta, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => columnValue(column, item));
  if (typeof value !== "string") return value;
  const { kind } = column.type;
  if (kind === "smallInt" || kind === "int") {
    if (!/^-?\d{1,15}$/.test(value)) throw badInput(`${column.attribute} must be a whole number.`);
    return Number(value);
  }
  if (kind === "bigInt") {
    if (!/^-?\d{1,30}$/.test(value)) throw badInput(`${column.attribute} must be a whole number.`);
    return BigInt(value);
  }
  return value;
}

/** The error for a value that the client must change. */
export function badInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "BAD_USER_INPUT" } });
}
