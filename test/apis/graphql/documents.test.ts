import { buildSchema } from "graphql";
import { describe, expect, it } from "vitest";
import { Documents, ReadyDocument } from "../../../src/apis/graphql/documents.js";
import { limitOptions } from "../../../src/apis/graphql/limits.js";

const schema = buildSchema("type Query { a: Int b: Int }");
const settings = { limits: limitOptions.read([undefined]), introspection: true, cacheSize: 100_000 };

describe("documents", () => {
  it("A document is parsed and validated once", () => {
    const documents = new Documents(schema, settings);
    expect(documents.prepare("{ a }")).toBe(documents.prepare("{ a }"));
  });

  it("A document that is not valid is not cached", () => {
    const documents = new Documents(schema, settings);
    for (let i = 0; i < 10; i++) expect(documents.prepare(`{ x${i} }`)).toBeInstanceOf(Array);
    expect(documents.size).toBe(0);
  });

  it("Documents are cached within a number of bytes, and those used last stay", () => {
    const documents = new Documents(schema, settings);
    const first = documents.prepare("{ a }");
    for (let i = 0; i < 500; i++) {
      documents.prepare(`{ b } #${i}`);
      expect(documents.prepare("{ a }")).toBe(first);
    }
    expect(documents.size).toBeLessThan(50);
    expect(documents.prepare(`{ b } #${"x".repeat(300)}`)).toBeInstanceOf(ReadyDocument);
    expect(documents.size).toBeLessThan(50);
  });
});
