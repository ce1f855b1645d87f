import { GraphQLError } from "../graphql-js.js";
import type { ScalarResolver } from "../schema-like.js";

/** The scalars that Stoa knows beside those of GraphQL. A schema that uses one by name need not define it. */
export const scalars: Readonly<Record<string, ScalarResolver & { readonly description: string }>> = {
  DateTime: {
    description: "A point in time, as ISO 8601 with a time zone.",
    serialize(value) {
      const date =
        value instanceof Date ? value : typeof value === "string" || typeof value === "number" ? new Date(value) : null;
      if (date === null || Number.isNaN(date.getTime())) throw new TypeError("DateTime cannot represent the value");
      return date.toISOString();
    },
    parseValue(value) {
      const date = typeof value === "string" && dateTime.test(value) ? new Date(value) : null;
      if (date === null || Number.isNaN(date.getTime())) throw wrong("DateTime", "ISO 8601 with a time zone");
      return date;
    },
  },
  BigInt: {
    description: "A whole number of any size, as a string.",
    serialize: (value) => String(value),
    parseValue(value) {
      if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
      if (typeof value === "string" && /^-?\d{1,100}$/.test(value)) return BigInt(value);
      throw wrong("BigInt", "a whole number");
    },
  },
  JSON: { description: "Any JSON value.", serialize: (value) => value, parseValue: (value) => value },
};

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

function wrong(name: string, wanted: string): GraphQLError {
  return new GraphQLError(`${name} must be ${wanted}.`);
}
