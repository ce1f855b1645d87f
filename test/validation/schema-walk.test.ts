import { describe, expect, it } from "vitest";
import { acceptedTypes } from "../../src/validation/schema-walk.js";

describe("the JSON types of a schema", () => {
  const typesOf = (schema: unknown): string[] | null => {
    const types = acceptedTypes({}, schema);
    return types && [...types].sort();
  };

  it.each([
    ["any, for true and for no restriction", [true, {}, { anyOf: [true, { type: "number" }] }], null],
    ["none, for false", [false, { allOf: [false, { type: "number" }] }], []],
    ["those of the alternatives that let anything through", [{ anyOf: [false, { type: "number" }] }], ["number"]],
    ["those of every part", [{ allOf: [{ type: ["string", "null"] }, { type: "null" }] }], ["null"]],
    ["integers, where one part says number", [{ allOf: [{ type: "number" }, { type: "integer" }] }], ["integer"]],
    ["those of constants", [{ const: null }, { enum: [null] }], ["null"]],
  ])("The JSON types that a schema accepts are %s", (_, schemas, types) => {
    for (const schema of schemas) expect(typesOf(schema)).toEqual(types);
  });
});
