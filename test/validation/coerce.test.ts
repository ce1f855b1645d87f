import { describe, expect, it } from "vitest";
import { z } from "zod";
import { coercion } from "../../src/validation/coerce.js";
import type { StandardSchema } from "../../src/validation/standard-schema.js";
import fc from "../support/properties.js";

function coerced(schema: StandardSchema, input: Record<string, unknown>, lists: "repeated" | "commas" = "repeated") {
  coercion(schema, lists)?.(input);
  return input;
}

const one = (property: z.ZodType, value: unknown): unknown => coerced(z.object({ x: property }), { x: value })["x"];

describe("coercion by schema", () => {
  const cases: [property: z.ZodType, given: unknown, expected: unknown][] = [
    [z.number(), "1.5", 1.5],
    [z.number(), "-2e3", -2000],
    [z.number(), "1e999", "1e999"],
    [z.number(), "", ""],
    [z.number(), " 1", " 1"],
    [z.number(), "0x10", "0x10"],
    [z.number(), "Infinity", "Infinity"],
    [z.int(), "42", 42],
    [z.int(), "007", 7],
    [z.int(), "1e0", "1e0"],
    [z.int(), "1.0", "1.0"],
    [z.int(), "9007199254740993", "9007199254740993"],
    [z.boolean(), "true", true],
    [z.boolean(), "FALSE", false],
    [z.boolean(), "1", true],
    [z.boolean(), "off", false],
    [z.boolean(), "yes", "yes"],
    [z.boolean(), "toString", "toString"],
    [z.number().nullable(), "", null],
    [z.number().nullable(), "3", 3],
    [z.number().optional(), "3", 3],
    [z.number().default(1), "3", 3],
    [z.literal([1, 2]), "2", 2],
    [z.literal(true), "true", true],
    [z.string(), "5", "5"],
    [z.union([z.number(), z.string()]), "5", "5"],
    [z.union([z.number(), z.boolean()]), "true", true],
    [z.number().and(z.number().min(1)), "5", 5],
    [z.coerce.number(), "5", 5],
    [z.coerce.boolean(), "false", false],
    [z.coerce.date(), "2020", "2020"],
    [z.coerce.bigint(), "9007199254740993", "9007199254740993"],
    [z.string().transform(Number), "5", "5"],
    [z.stringbool(), "true", "true"],
    [z.any(), "5", "5"],
    [z.array(z.int()), "5", [5]],
    [z.array(z.int()), ["5", "x"], [5, "x"]],
    [z.array(z.string()), "a,b", ["a,b"]],
    [z.int(), ["1", "2"], ["1", "2"]],
  ];
  for (const [property, given, expected] of cases) {
    const type = (property as unknown as { _zod: { def: { type: string } } })._zod.def.type;
    it(`A schema of type ${type} reads ${JSON.stringify(given)} as ${JSON.stringify(expected)}`, () => {
      expect(one(property, given)).toEqual(expected);
    });
  }

  it("A list in a header or a path is split at commas", () => {
    expect(coerced(z.object({ x: z.array(z.int()) }), { x: "1, 2,3" }, "commas")).toEqual({ x: [1, 2, 3] });
  });

  it("Coercion follows alternatives, references and records", () => {
    const Id = z.int().meta({ id: "CoercedId" });
    const either = z.discriminatedUnion("by", [
      z.object({ by: z.literal("id"), id: Id }),
      z.object({ by: z.literal("name"), name: z.string() }),
    ]);
    expect(coerced(either, { by: "id", id: "5", name: "7" })).toEqual({ by: "id", id: 5, name: "7" });
    expect(coerced(z.record(z.string(), z.number()), { a: "1", b: "x" })).toEqual({ a: 1, b: "x" });
    expect(coerced(z.object({ a: z.string() }).catchall(z.boolean()), { a: "1", b: "1" })).toEqual({ a: "1", b: true });
  });

  it("Coercion ends for a schema that refers to itself", () => {
    interface Tree {
      value: number;
      next?: Tree | undefined;
    }
    const Tree: z.ZodType<Tree> = z.object({ value: z.number(), next: z.lazy(() => Tree).optional() });
    expect(coerced(Tree, { value: "1" })).toEqual({ value: 1 });
  });

  it("Coercion neither pollutes a prototype nor loses a '__proto__'", () => {
    const input = JSON.parse('{"__proto__":"1","a":"2"}') as Record<string, unknown>;
    coerced(z.record(z.string(), z.number()), input);
    expect(Object.entries(input)).toEqual([
      ["__proto__", 1],
      ["a", 2],
    ]);
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
  });

  it("A schema of strings needs no coercion", () => {
    expect(coercion(z.object({ a: z.string(), b: z.iso.date().optional() }), "repeated")).toBeNull();
  });

  it("Coercion never changes the value of an integer", () => {
    fc.assert(fc.property(fc.bigInt(), (value) => String(one(z.int(), String(value))) === String(value)));
  });

  it("Coercion keeps every finite number", () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(finite, (value) => {
        const text = Object.is(value, -0) ? "-0" : String(value);
        expect(one(z.number(), text)).toBe(value);
      }),
    );
  });
});
