import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { get, graphqlApp, post } from "./support.js";

const typeDefs = "type Query { a: Int b: Int }";
const resolvers = { Query: { a: () => 1, b: () => 2 } };
const hashOf = (query: string): string => createHash("sha256").update(query).digest("hex");
const byHash = (sha256Hash: string): object => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });

describe("persisted operations", () => {
  it("A persisted operation is found by an id or a hash, in a list or by a function", async () => {
    for (const operations of [{ first: "{ a }" }, async (id: string) => (id === "first" ? "{ a }" : null)]) {
      const app = graphqlApp({ typeDefs, resolvers, persisted: { operations } });
      expect((await post(app, { documentId: "first" })).body).toEqual({ data: { a: 1 } });
      expect((await post(app, byHash("first"))).body).toEqual({ data: { a: 1 } });
      expect((await get(app, { documentId: "first" })).body).toEqual({ data: { a: 1 } });
      const { status, body } = await post(app, { documentId: "constructor" });
      expect([status, body.errors?.[0]?.message]).toEqual([400, "PersistedQueryNotFound"]);
      expect((await post(app, { query: "{ b }" })).body).toEqual({ data: { b: 2 } });
    }
  });

  it("Only persisted operations run if the option 'only' is true", async () => {
    const app = graphqlApp({ typeDefs, resolvers, persisted: { operations: { x: "{ a }" }, only: true } });
    expect((await post(app, { documentId: "x" })).body).toEqual({ data: { a: 1 } });
    for (const body of [{ query: "{ b }" }, { query: "{ b }", documentId: "x" }, { query: "{ b }", ...byHash("x") }]) {
      expect((await post(app, body)).body.errors?.[0]?.extensions).toEqual({ code: "PERSISTED_QUERY_ONLY" });
    }
  });

  it("Clients register operations with their hash if the option 'automatic' is true", async () => {
    const app = graphqlApp({ typeDefs, resolvers, persisted: { automatic: true } });
    const query = "{ a }";
    const known = byHash(hashOf(query));
    expect((await post(app, known)).body.errors?.[0]?.extensions).toEqual({ code: "PERSISTED_QUERY_NOT_FOUND" });
    expect((await post(app, { query, ...known })).body).toEqual({ data: { a: 1 } });
    expect((await post(app, known)).body).toEqual({ data: { a: 1 } });
    expect((await post(app, { query: "{ b }", ...known })).status).toBe(400);
    expect((await post(app, known)).body).toEqual({ data: { a: 1 } });
  });

  it("Operations that clients registered are forgotten, the oldest first, when they take too much memory", async () => {
    const app = graphqlApp({ typeDefs, resolvers, persisted: { automatic: true } });
    const queryOf = (i: number): string => `{ a } #${i}${"x".repeat(99_000)}`;
    for (let i = 0; i < 45; i++) await post(app, { query: queryOf(i), ...byHash(hashOf(queryOf(i))) });
    expect((await post(app, byHash(hashOf(queryOf(44))))).body).toEqual({ data: { a: 1 } });
    expect((await post(app, byHash(hashOf(queryOf(0))))).body.errors?.[0]?.message).toBe("PersistedQueryNotFound");
  });

  it("Clients cannot register operations by default", async () => {
    const app = graphqlApp({ typeDefs, resolvers });
    const known = byHash(hashOf("{ a }"));
    expect((await post(app, { query: "{ a }", ...known })).body).toEqual({ data: { a: 1 } });
    expect((await post(app, known)).status).toBe(400);
  });
});
