import { fileURLToPath } from "node:url";
import { buildSchema } from "graphql";
import { describe, expect, it } from "vitest";
import { Documents, type ReadyDocument, type ReadyOperation } from "../../../src/apis/graphql/documents.js";
import type { TextResult } from "../../../src/apis/graphql/execute/compile.js";
import { limitOptions } from "../../../src/apis/graphql/limits.js";
import { Program, patient } from "../../server/process/program.js";
import { isLong } from "../../support/long.js";
import { combinations, fanOut, typeDefs, user } from "./fixtures/fan-out.js";

const schema = buildSchema(typeDefs);

function documentsOf(cacheSize: number): Documents {
  return new Documents(schema, { limits: limitOptions.read([undefined]), introspection: true, cacheSize });
}

function execute(documents: Documents, text: string, variables: Record<string, unknown>): TextResult {
  const operation = (documents.prepare(text) as ReadyDocument).find(null) as ReadyOperation;
  return operation.compiled.execute(variables, {}, { me: user() }) as TextResult;
}

describe("the memory of documents", patient, () => {
  // Plans that were not shared took 19 MB for each document.
  const count = isLong ? 60 : 20;

  it("Many documents whose fragments fan out, each with 16 combinations of conditions, fit into a heap of 128 MB", async () => {
    const file = fileURLToPath(new URL("./fixtures/many-documents.ts", import.meta.url));
    const program = new Program({ file, node: ["--max-old-space-size=128"], args: [String(count)] });
    const exit = await program.exited;
    expect({ ...exit, stdout: program.stdout, stderr: program.stderr }).toEqual({
      code: 0,
      signal: null,
      stdout: `fields ${count * 16 * 511}\n`,
      stderr: "",
    });
  });

  it("A field that fragments repeat has one plan, whatever the conditions are", () => {
    const documents = documentsOf(33_554_432);
    for (const variables of combinations) execute(documents, fanOut(0), variables);
    const { bytes } = documents;
    // The document has 23 fields. There would be 16 plans of 3,071 fields.
    expect(bytes).toBeLessThan(200_000);
    for (const variables of combinations) execute(documents, fanOut(0), variables);
    expect(documents.bytes).toBe(bytes);
  });

  it("The plans of documents are counted, and the documents used least recently are dropped for them", () => {
    const documents = documentsOf(1_000_000);
    for (let i = 0; i < 30; i++) {
      documents.prepare(fanOut(i));
      const before = documents.bytes;
      execute(documents, fanOut(i), combinations[5]!);
      if (i === 0) expect(documents.bytes).toBeGreaterThan(before + 10_000);
      expect(documents.bytes).toBeLessThanOrEqual(1_000_000);
    }
    expect(documents.size).toBeGreaterThan(3);
    expect(documents.size).toBeLessThan(10);
  });

  it("Fields that conditions merge in many ways have plans up to a bound, and the right result above it", () => {
    const documents = documentsOf(2 ** 40);
    const names = Array.from({ length: 12 }, (_, i) => `v${i}`);
    const fields = names.map((name) => `best@include(if:$${name}){id name best{id name best{id}}}`).join("");
    const text = `query(${names.map((name) => `$${name}:Boolean!`).join("")}){me{${fields}}}`;
    const inner = '{"id":"1","name":"Ada","best":{"id":"1","name":"Ada","best":{"id":"1"}}}';
    for (let bits = 0; bits < 4096; bits++) {
      const variables = Object.fromEntries(names.map((name, i) => [name, (bits & (1 << i)) !== 0]));
      const { data } = execute(documents, text, variables);
      if (data !== (bits === 0 ? '{"me":{}}' : `{"me":{"best":${inner}}}`)) expect(data).toBe(inner);
    }
    expect(documents.bytes).toBeGreaterThan(1_000_000);
    expect(documents.bytes).toBeLessThan(3_000_000);
  });

  it("A document whose plans are larger than a quarter of the cache is executed and not kept", () => {
    const documents = documentsOf(500_000);
    const parts = Array.from({ length: 15 }, (_, i) => `a${i}:best{id name best{id name}}b${i}:best{id name}`);
    const text = `{me{${parts.join("")}}}`;
    for (let i = 0; i < 2; i++) {
      expect(JSON.parse(execute(documents, text, {}).data!).me.b14).toEqual({ id: "1", name: "Ada" });
      expect([documents.size, documents.bytes]).toEqual([0, 0]);
    }
  });
});
