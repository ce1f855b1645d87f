import type { GraphQLOutputType } from "graphql";
import { GraphQLBoolean, GraphQLFloat, GraphQLID, GraphQLInt, GraphQLString } from "../graphql-js.js";

/** A built-in scalar, by the values that its `serialize` returns unchanged; none for any other type. */
export type Scalar = "string" | "boolean" | "int" | "float" | "none";

const scalars = new Map<GraphQLOutputType, Scalar>([
  [GraphQLString, "string"],
  [GraphQLID, "string"],
  [GraphQLBoolean, "boolean"],
  [GraphQLInt, "int"],
  [GraphQLFloat, "float"],
]);

export function scalarOf(type: GraphQLOutputType): Scalar {
  return scalars.get(type) ?? "none";
}

/** The text of a value that needs no `serialize`; undefined for others. */
export function scalarText(scalar: Scalar, value: unknown): string | undefined {
  switch (scalar) {
    case "string":
      return typeof value === "string" ? quoted(value) : undefined;
    case "int":
      return typeof value === "number" && (value | 0) === value ? `${value}` : undefined;
    case "float":
      return typeof value === "number" && Number.isFinite(value) ? `${value}` : undefined;
    case "boolean":
      return value === true ? "true" : value === false ? "false" : undefined;
    case "none":
      return undefined;
  }
}

/** A string as JSON. Strings without characters to escape, the usual case, are not passed to JSON.stringify. */
export function quoted(text: string): string {
  if (text.length > 40) return special.test(text) ? JSON.stringify(text) : `"${text}"`;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Surrogates too: a lone one is escaped.
    if (unit < 32 || unit === 34 || unit === 92 || (unit >= 0xd800 && unit <= 0xdfff)) return JSON.stringify(text);
  }
  return `"${text}"`;
}

const special = /[\u0000-\u001f"\\\ud800-\udfff]/;
