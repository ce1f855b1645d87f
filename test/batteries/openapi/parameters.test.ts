import { describe, expect, it } from "vitest";
import { z } from "zod";
import { operationOf } from "./document-of.js";

/** An integer beyond this range is refused. */
const safeInteger = {
  type: "integer",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  examples: [1],
};

describe("parameters", () => {
  it("An integer without bounds has 1 as its example, unless it has a default, an example or no such value", async () => {
    const query = z.object({
      plain: z.int(),
      negative: z.int().max(0),
      fives: z.int().multipleOf(5),
      preset: z.int().default(20),
      shown: z.int().meta({ example: 7 }),
    });
    const { parameters } = await operationOf((app) => app.get("/", { query }, () => ""));
    const examples = (parameters as { name: string; schema: { examples?: number[] } }[]).map(
      ({ name, schema }) => [name, schema.examples] as const,
    );
    expect(examples.filter(([, values]) => values !== undefined)).toEqual([["plain", [1]]]);
  });

  it("Parameters come from the path, and from the schemas of params, query and headers", async () => {
    const { parameters } = await operationOf((app) =>
      app.get(
        "/{id}/{rest:*}",
        {
          params: z.object({ id: z.int().describe("Which one") }),
          query: z.object({
            page: z.int().default(1),
            q: z.string(),
            tags: z.array(z.string()).optional().meta({ deprecated: true }),
          }),
          headers: z.object({ "X-Tenant": z.string(), Authorization: z.string().optional() }),
        },
        () => "",
      ),
    );
    expect(parameters).toEqual([
      { name: "id", in: "path", description: "Which one", required: true, schema: safeInteger },
      {
        name: "rest",
        in: "path",
        description: "The rest of the path, slashes included.",
        required: true,
        schema: { type: "string" },
      },
      { name: "page", in: "query", required: false, schema: { ...safeInteger, examples: undefined, default: 1 } },
      { name: "q", in: "query", required: true, schema: { type: "string" } },
      {
        name: "tags",
        in: "query",
        deprecated: true,
        required: false,
        schema: { type: "array", items: { type: "string" } },
      },
      { name: "X-Tenant", in: "header", required: true, schema: { type: "string" } },
    ]);
  });

  it("Query parameters of any name are one exploded object", async () => {
    const { parameters } = await operationOf((app) =>
      app.get("/", { query: z.record(z.string(), z.number()) }, () => ""),
    );
    expect(parameters).toMatchObject([
      { in: "query", explode: true, schema: { type: "object", additionalProperties: { type: "number" } } },
    ]);
  });

  it("A parameter of alternatives is required only if each of them requires it", async () => {
    const query = z.union([z.object({ a: z.int(), b: z.string() }), z.object({ a: z.boolean() })]);
    const { parameters } = await operationOf((app) => app.get("/", { query }, () => ""));
    expect(parameters).toEqual([
      { name: "a", in: "query", required: true, schema: { anyOf: [safeInteger, { type: "boolean" }] } },
      { name: "b", in: "query", required: false, schema: { type: "string" } },
    ]);
  });
});
