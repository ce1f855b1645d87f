import {
  buildSchema,
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLScalarType,
  type GraphQLSchema,
  getVariableValues,
  NoUnusedVariablesRule,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CompiledOperation, type TextResult } from "../../../src/apis/graphql/execute/compile.js";
import { DocumentPlan } from "../../../src/apis/graphql/execute/document-plan.js";
import fc, { runs } from "../../support/properties.js";
import { randomOperation, randomSchema } from "./random-operations.js";

const rules = specifiedRules.filter((rule) => rule !== NoUnusedVariablesRule);

function compiled(schema: GraphQLSchema, document: DocumentNode): CompiledOperation {
  const operation = document.definitions.find((definition) => definition.kind === "OperationDefinition")!;
  return new CompiledOperation(new DocumentPlan(schema, document), operation);
}

function textOf({ data, errors }: TextResult): string {
  return `{${errors === null ? "" : `"errors":${JSON.stringify(errors)},`}"data":${data}}`;
}

/**
 * Each place that is null for an error has one; which one, where several fields inside of it fail, depends on the time that
 * each takes. An error at the same path is the same error.
 */
function expectSameErrors(errors: readonly GraphQLError[], expected: ExecutionResult): void {
  const places = (list: readonly GraphQLError[]) =>
    [...new Set(list.map((error) => nullOf(expected.data, error)))].sort();
  expect(places(errors)).toEqual(places(expected.errors ?? []));
  expect(new Set(errors.map(({ path }) => path?.join("."))).size).toBe(errors.length);
  for (const error of errors) {
    const same = expected.errors!.find(({ path }) => path?.join(".") === error.path?.join("."));
    if (same) expect(JSON.stringify(error)).toBe(JSON.stringify(same));
  }
}

/** The place that an error made null. */
function nullOf(data: unknown, { path = [] }: GraphQLError): string {
  let value = data;
  const keys: (string | number)[] = [];
  for (const key of path) {
    if (value === null) break;
    keys.push(key);
    value = (value as Record<string | number, unknown>)[key];
  }
  expect(value).toBeNull();
  return keys.join(".");
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("compiled execution", () => {
  let unhandled = 0;
  const count = (): void => void unhandled++;
  let listeners: NodeJS.UnhandledRejectionListener[] = [];

  beforeAll(() => {
    listeners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", count);
  });

  afterAll(() => {
    process.off("unhandledRejection", count);
    for (const listener of listeners) process.on("unhandledRejection", listener);
  });

  it("Compiled execution gives the same data as execute(), and errors for the same places, for random schemas and operations", async () => {
    let valid = 0;
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (schemaSeed, operationSeed) => {
        const { text, variables } = randomOperation(randomSchema(schemaSeed), operationSeed);
        const document = parse(text);
        // Each execution has a schema of its own: their resolvers draw from the same numbers.
        const [one, two] = [randomSchema(schemaSeed), randomSchema(schemaSeed)];
        if (validate(one, document, rules).length > 0) return;
        valid++;
        const expected = await execute({ schema: one, document, variableValues: variables, contextValue: {} });
        // `execute` leaves rejected items of a list behind; that would end a process.
        await turn();
        unhandled = 0;
        const operation = compiled(two, document);
        const definitions = operation.operation.variableDefinitions ?? [];
        const coerced = getVariableValues(two, definitions, variables).coerced!;
        if (expected.errors) failed++;
        // The plan made by the first execution serves the second.
        for (let i = 0; i < 2; i++) {
          const { data, errors } = await operation.execute(coerced, {});
          expect(`${data}`).toBe(JSON.stringify(expected.data));
          expectSameErrors(errors ?? [], expected);
        }
        await turn();
        expect(unhandled).toBe(0);
      }),
      { numRuns: runs(300) },
    );
    expect(valid).toBeGreaterThan(runs(150));
    expect(failed).toBeGreaterThan(runs(50));
  });

  it("A resolver that changes its arguments does not change those of other fields or executions", () => {
    const schema = buildSchema("type Query { a(n: Int = 1, list: [Int!]): String }");
    schema.getQueryType()!.getFields()["a"]!.resolve = (_source, args) => {
      const text = JSON.stringify(args);
      args.n = 99;
      args.list.push(99);
      return text;
    };
    const operation = compiled(schema, parse("{ a(list: [1]) x: a(n: 1, list: [1]) }"));
    const given = '{"n":1,"list":[1]}';
    for (let i = 0; i < 3; i++)
      expect(textOf(operation.execute({}, {}) as TextResult)).toBe(JSON.stringify({ data: { a: given, x: given } }));
  });

  it("An operation with conditions is executed by the variables of each request", () => {
    const operation = compiled(
      buildSchema("type Query { a: Int b: Int }"),
      parse("query ($yes: Boolean!, $no: Boolean!) { a @skip(if: $yes) b @include(if: $no) }"),
    );
    const dataOf = (yes: boolean, no: boolean) =>
      (operation.execute({ yes, no }, {}, { a: 1, b: 2 }) as TextResult).data;
    expect([dataOf(true, true), dataOf(false, true), dataOf(false, false), dataOf(true, false)]).toEqual([
      '{"b":2}',
      '{"a":1,"b":2}',
      '{"a":1}',
      "{}",
    ]);
  });

  it("A variable inside of a list among the arguments has the value of each request", () => {
    const operation = compiled(
      buildSchema("type Query { a(list: [Int!]): String }"),
      parse("query ($n: Int!) { a(list: [1, $n]) }"),
    );
    const rootValue = { a: (args: unknown) => JSON.stringify(args) };
    const dataOf = (n: number) => JSON.parse((operation.execute({ n }, {}, rootValue) as TextResult).data!);
    expect([dataOf(2), dataOf(3)]).toEqual([{ a: '{"list":[1,2]}' }, { a: '{"list":[1,3]}' }]);
  });

  it("A scalar that is serialized as nothing is an error, and its message says so", () => {
    const schema = buildSchema("scalar Odd type Query { a: Odd b: Odd }");
    (schema.getType("Odd") as GraphQLScalarType).serialize = (value) => (value === 1 ? undefined : null);
    const { data, errors } = compiled(schema, parse("{ a b }")).execute({}, {}, { a: 1, b: 2 }) as TextResult;
    expect(data).toBe('{"a":null,"b":null}');
    expect(errors!.map(({ message }) => message)).toEqual([
      "Expected `Odd.serialize(1)` to return non-nullable value, returned: undefined",
      "Expected `Odd.serialize(2)` to return non-nullable value, returned: null",
    ]);
  });

  it("An error of a field that was asked for twice has both places, in order", () => {
    const schema = buildSchema("type Query { a: A } type A { x: Int y: Int }");
    const { errors } = compiled(schema, parse("{ a { x } a { y } }")).execute(
      {},
      {},
      { a: new Error("no a") },
    ) as TextResult;
    expect(errors![0]!.locations).toEqual([
      { line: 1, column: 3 },
      { line: 1, column: 11 },
    ]);
  });

  it("Compiled execution is synchronous if no resolver returns a promise", () => {
    const schema = buildSchema("type Query { a: Int }");
    expect(compiled(schema, parse("{ a }")).execute({}, {}, { a: 1 })).toMatchObject({ data: '{"a":1}', errors: null });
  });

  it("A value with a then method may call back at once, twice, or throw", async () => {
    const schema = buildSchema("type Query { once: Int twice: Int thrown: Int list: [Int] changed: Int }");
    const rootValue = {
      // biome-ignore lint/suspicious/noThenProperty: the value under test
      once: { then: (resolve: (value: number) => void) => resolve(1) },
      twice: {
        // biome-ignore lint/suspicious/noThenProperty: the value under test
        then(resolve: (value: number) => void) {
          resolve(1);
          resolve(2);
        },
      },
      thrown: {
        // biome-ignore lint/suspicious/noThenProperty: the value under test
        then() {
          throw new Error("no value");
        },
      },
      // biome-ignore lint/suspicious/noThenProperty: the value under test
      list: [{ then: (resolve: (value: number) => void) => resolve(3) }, 4],
      // biome-ignore lint/suspicious/noThenProperty: the value under test
      changed: Object.assign(Promise.resolve(5), { then: (resolve: (value: number) => void) => resolve(6) }),
    };
    const result = await compiled(schema, parse("{ once twice thrown list changed }")).execute({}, {}, rootValue);
    expect(JSON.parse(result.data!)).toEqual({ once: 1, twice: 1, thrown: null, list: [3, 4], changed: 6 });
    expect(result.errors!.map(({ message, path }) => [message, path])).toEqual([["no value", ["thrown"]]]);
  });

  it("A response that is longer than a string can be is an error of its field", async () => {
    const schema = buildSchema("type Query { list: [String] }");
    const long = "x".repeat(2 ** 22);
    const rootValue = { list: Array.from({ length: 2 ** 7 }, () => Promise.resolve(long)) };
    const result = await compiled(schema, parse("{ list }")).execute({}, {}, rootValue);
    expect(result.data).toBe('{"list":null}');
    expect(result.errors!.map(({ message }) => message)).toEqual(["Invalid string length"]);
  });

  it.each([
    ["in time", () => 1, '{"x":1}', []],
    ["with an error", () => Promise.reject(new Error("no value")), '{"x":null}', ["no value"]],
  ])("An operation of 2,000 levels whose values all come later ends %s", async (_, x, innermost, messages) => {
    const schema = buildSchema("type Query { a: Query x: Int }");
    const node = { a: () => Promise.resolve(node), x };
    // The parser cannot read so many levels in one piece, but fragments can have them.
    const parts = Array.from({ length: 10 }, (_, i) => {
      return `fragment F${i} on Query { ${"a { ".repeat(200)} ${i === 9 ? "x" : `...F${i + 1}`} ${"}".repeat(200)} }`;
    });
    const result = await compiled(schema, parse(`{ ...F0 } ${parts.join(" ")}`)).execute({}, {}, node);
    expect(result.data).toBe(`${'{"a":'.repeat(2000)}${innermost}${"}".repeat(2000)}`);
    expect((result.errors ?? []).map(({ message }) => message)).toEqual(messages);
    await turn();
    expect(unhandled).toBe(0);
  });

  it("The fields of a mutation run one after the other", async () => {
    const schema = buildSchema("type Query { q: Int } type Mutation { one: Int two: Int }");
    const order: string[] = [];
    const slow = async (name: string): Promise<number> => {
      order.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ends`);
      return 1;
    };
    await compiled(schema, parse("mutation { one two }")).execute(
      {},
      {},
      { one: () => slow("one"), two: () => slow("two") },
    );
    expect(order).toEqual(["one begins", "one ends", "two begins", "two ends"]);
  });
});
