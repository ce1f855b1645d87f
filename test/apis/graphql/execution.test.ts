import {
  buildSchema,
  type DocumentNode,
  execute,
  type GraphQLSchema,
  getVariableValues,
  NoUnusedVariablesRule,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CompiledOperation, type TextResult } from "../../../src/apis/graphql/execute/compile.js";
import fc from "../../support/properties.js";
import { randomOperation, randomSchema } from "./random-operations.js";

const rules = specifiedRules.filter((rule) => rule !== NoUnusedVariablesRule);

function compiled(schema: GraphQLSchema, document: DocumentNode): CompiledOperation {
  const operation = document.definitions.find((definition) => definition.kind === "OperationDefinition")!;
  return new CompiledOperation(schema, document, operation);
}

function textOf({ data, errors }: TextResult): string {
  return `{${errors === null ? "" : `"errors":${JSON.stringify(errors)},`}"data":${data}}`;
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

  it("Compiled execution gives the same data and errors in the same order as execute(), for random schemas and operations", async () => {
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
        const first = await operation.execute(coerced, {});
        if (expected.errors) failed++;
        expect(textOf(first)).toBe(JSON.stringify(expected));
        // The plan made by the first execution serves the second.
        expect(textOf(await operation.execute(coerced, {}))).toBe(JSON.stringify(expected));
        await turn();
        expect(unhandled).toBe(0);
      }),
      {
        numRuns: 300,
        examples: [
          // A list fails one step before an object does.
          [1_026_679_968, 7],
          [981_867_690, 378],
          // An error waits for the fields before it.
          [1_006_851_702, 366],
        ],
      },
    );
    expect(valid).toBeGreaterThan(150);
    expect(failed).toBeGreaterThan(50);
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

  it("Compiled execution is synchronous if no resolver returns a promise", () => {
    const schema = buildSchema("type Query { a: Int }");
    expect(compiled(schema, parse("{ a }")).execute({}, {}, { a: 1 })).toEqual({ data: '{"a":1}', errors: null });
  });

  it("A value with a then method may call back at once, twice, or throw", async () => {
    const schema = buildSchema("type Query { once: Int twice: Int thrown: Int list: [Int] }");
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
    };
    const result = await compiled(schema, parse("{ once twice thrown list }")).execute({}, {}, rootValue);
    expect(JSON.parse(result.data!)).toEqual({ once: 1, twice: 1, thrown: null, list: [3, 4] });
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
