import { describe, expect, it } from "vitest";
import { FieldError, listOptions } from "../../../src/entry/orm.js";
import { Author, Book, Note } from "../../orm/bookshop.js";
import { type Any, documentOf } from "./document-of.js";

describe("lists of models", () => {
  const listed = async (model: typeof Book | typeof Author | typeof Note, options: object): Promise<Any> => {
    const { paths, components } = await documentOf((app) =>
      app.get("/", listOptions(model, options), (() => []) as never),
    );
    const { parameters = [], responses } = paths["/"].get;
    const schemas = Object.fromEntries(parameters.map(({ name, schema }: Any) => [name, schema]));
    return { parameters, schemas, responses, components };
  };

  it("A list by number has its page, and the parameters of pageFrom() with their limits", async () => {
    const { schemas, parameters, responses, components } = await listed(Book, { size: 10, maxSize: 50, maxPage: 9 });
    expect(schemas).toEqual({
      page: { type: "integer", minimum: 1, maximum: 9, default: 1 },
      size: { type: "integer", minimum: 1, maximum: 50, default: 10 },
    });
    expect(parameters[0]).toMatchObject({ in: "query", required: false });
    expect(responses["200"].content["application/json"].schema).toEqual({ $ref: "#/components/schemas/BookPage" });
    expect(responses["400"].content["application/problem+json"].schema).toEqual({
      $ref: "#/components/schemas/Problem",
    });
    expect(components.schemas.BookPage.properties).toMatchObject({
      items: { type: "array", items: { $ref: "#/components/schemas/Book" } },
      total: { type: "integer" },
      hasNext: { type: "boolean" },
    });
    expect(components.schemas.Book.properties.title.type).toBe("string");
  });

  it("A list by key has cursors, and one without pages is an array", async () => {
    const { schemas, components } = await listed(Book, { by: "key", orders: ["year", "title"] });
    expect(Object.keys(schemas)).toEqual(["order", "after", "before", "size"]);
    expect(components.schemas.BookKeysetPage.properties.next).toEqual({ type: ["string", "null"] });
    const all = await listed(Book, { pages: false });
    expect([all.schemas, all.components.schemas.BookList]).toEqual([
      {},
      { type: "array", items: { $ref: "#/components/schemas/Book" } },
    ]);
  });

  it("Filters have the types of their columns and lookups", async () => {
    const filters = [
      "year__gte",
      "status",
      "id__in",
      "price__lt",
      "published__isnull",
      "published__year",
      "title__icontains",
    ];
    const related = ["author", "author__name", "author__country__code__ne", "tags", "tags__name__in", "pk"];
    const { schemas } = await listed(Book, { filters: [...filters, ...related], pages: false });
    expect(schemas).toMatchObject({
      year__gte: { type: "integer" },
      status: { type: "string", enum: ["draft", "published", "sold_out"] },
      id__in: { type: "array", items: { type: "integer" } },
      price__lt: { type: ["string", "number"] },
      published__isnull: { type: "boolean" },
      title__icontains: { type: "string" },
      author: { type: "integer" },
      author__name: { type: "string" },
      author__country__code__ne: { type: "string" },
      tags: { type: "integer" },
      tags__name__in: { type: "array", items: { type: "string" } },
      pk: { type: "integer" },
    });
    expect(schemas.published__year).toEqual({});
  });

  it("Hidden fields are not described, and a filter that the model does not have is an error", async () => {
    const { properties } = (await listed(Note, {})).components.schemas.Note;
    expect([properties.text.type, properties.secret]).toEqual(["string", undefined]);
    expect(() => listOptions(Author, { filters: ["nmae"] }).openapi.parameters).toThrow(FieldError);
    expect(() => listOptions(Author, { size: 200, maxSize: 100 }).openapi.parameters).toThrow(/maxSize/);
  });
});
