import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { documentOf, operationOf } from "./document-of.js";

describe("schemas", () => {
  const Book = z.object({ title: z.string() });

  it("Schemas are shared under the name that they or the application give them", async () => {
    const Author = z.object({ name: z.string() }).meta({ id: "DocumentAuthor" });
    const { components, paths } = await documentOf(
      (app) => {
        app.get("/books", { response: z.object({ books: z.array(Book), by: Author }) }, () => ({}) as never);
        app.post("/books", { body: Book }, () => "");
        app.get("/titled", { response: z.object({ a: z.int() }).meta({ title: "Titled" }) }, () => ({}) as never);
      },
      { schemas: { Book } },
    );
    const own = Object.keys(components.schemas).filter((name) => !/Problem|Error/.test(name));
    expect(own).toEqual(["Book", "DocumentAuthor", "Titled"]);
    expect(paths["/books"].get.responses["200"].content["application/json"].schema.properties).toEqual({
      books: { type: "array", items: { $ref: "#/components/schemas/Book" } },
      by: { $ref: "#/components/schemas/DocumentAuthor" },
    });
  });

  it("Schemas are shared if several routes use them", async () => {
    const { components } = await documentOf((app) => {
      app.get("/a", { response: Book }, () => ({}) as never).get("/b", { response: Book }, () => ({}) as never);
      app.get("/c", { response: z.object({ first: Book }) }, () => ({}) as never);
    });
    expect(Object.keys(components.schemas)).toEqual(["GetAResponse", "ServerError"]);
  });

  it("Input and output schemas are separate only if they differ", async () => {
    const Tag = z.object({ name: z.string().default("x") });
    const Post = z.object({ tags: z.array(Tag) });
    const { components, paths } = await documentOf(
      (app) => {
        app.post("/book", { body: Book, response: Book }, () => ({}) as never);
        app.post("/post", { body: Post, response: Post }, () => ({}) as never);
      },
      { schemas: { Book, Tag, Post } },
    );
    const own = Object.keys(components.schemas).filter((name) => /Book|Tag|Post/.test(name));
    expect(own).toEqual(["Book", "Post", "PostInput", "Tag", "TagInput"]);
    expect(components.schemas.Tag.required).toEqual(["name"]);
    expect(components.schemas.TagInput.required).toBeUndefined();
    expect(components.schemas.PostInput.properties.tags.items).toEqual({ $ref: "#/components/schemas/TagInput" });
    expect(paths["/post"].post.requestBody.content["application/json"].schema).toEqual({
      $ref: "#/components/schemas/PostInput",
    });
  });

  it("Schemas that refer to themselves are shared", async () => {
    const Tree = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    });
    const { components } = await documentOf((app) => {
      app.post("/tree", { body: Tree }, () => "");
      app.post("/within", { body: z.object({ tree: Tree }) }, () => "");
    });
    expect(components.schemas.PostTreeBody.properties.children.items).toEqual({
      $ref: "#/components/schemas/PostTreeBody",
    });
    expect(JSON.stringify(components)).not.toContain("$defs");
  });

  it("Schemas of one name and different content do not overwrite each other", async () => {
    const one = toStandardJsonSchema(v.pipe(v.object({ a: v.number() }), v.title("Same")));
    const two = toStandardJsonSchema(v.pipe(v.object({ b: v.number() }), v.title("Same")));
    const { components, paths } = await documentOf((app) => {
      app.post("/one", { body: one }, () => "").post("/two", { body: two }, () => "");
    });
    expect(Object.keys(components.schemas).filter((name) => name.startsWith("Same"))).toEqual(["Same", "Same2"]);
    expect(paths["/two"].post.requestBody.content["application/json"].schema.$ref).toBe("#/components/schemas/Same2");
  });

  it("Schemas of any library with JSON Schema are documented", async () => {
    const found = await operationOf((app) => app.post("/", { body: type({ a: "number", "b?": "string" }) }, () => ""));
    expect(found.requestBody.content["application/json"].schema).toMatchObject({
      properties: { a: { type: "number" }, b: { type: "string" } },
      required: ["a"],
    });
  });

  it("Schemas of models have their name, and 400 in place of 422", async () => {
    const Model = {
      [Symbol.for("stoa.bodyValidator")]: () => ({ value: {} }),
      [Symbol.for("stoa.jsonSchema")]: (direction: string) => ({
        name: "Model",
        schema: { type: "object", properties: { [direction]: { type: "string" }, up: { $ref: "#/$defs/Model" } } },
      }),
    } as never;
    const { components, paths } = await documentOf((app) =>
      app.post("/", { body: Model, response: Model }, () => ({}) as never),
    );
    expect(components.schemas.ModelInput.properties.up).toEqual({ $ref: "#/components/schemas/ModelInput" });
    expect(components.schemas.Model.properties.output).toEqual({ type: "string" });
    expect(Object.keys(paths["/"].post.responses)).toEqual(["200", "400", "413", "415", "500"]);
    expect(paths["/"].post.responses["400"]).toEqual({ $ref: "#/components/responses/InvalidModel" });
  });
});
