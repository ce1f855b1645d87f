import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { nested } from "../../../src/entry/orm.js";
import { bodyValidatorSymbol, jsonSchemaSymbol } from "../../../src/validation/body-validator.js";
import { Author, Book, Tag } from "../bookshop.js";

const body = nested(Author, "books", "books__tags", "profile");
const read = (value: unknown): unknown => body[bodyValidatorSymbol](Buffer.from(JSON.stringify(value)));

describe("bodies with related rows", () => {
  it("Related rows that are allowed are read, with their own columns only", () => {
    const sent = {
      name: "Ursula",
      id: 7,
      books: [
        { title: "Lavinia", year: "2008", author: 99, authorId: 99, tags: [3, { name: "myth", id: 5 }] },
        { title: "The Telling" },
      ],
      profile: { bio: "x", author: 99 },
      country: { code: "us", name: "no" },
    };
    const result = read({ ...sent, country: null }) as { value: Record<string, unknown> };
    expect(result.value).toMatchObject({
      name: "Ursula",
      books: [{ title: "Lavinia", year: 2008, tags: [3, { name: "myth" }] }, { title: "The Telling" }],
      profile: { bio: "x" },
    });
    const [first] = result.value["books"] as Record<string, unknown>[];
    expect(Object.keys(first!).sort()).toEqual(["tags", "title", "year"]);
    expect(Object.keys(result.value)).not.toContain("id");
  });

  it("Relations that are not named are ignored, so that clients cannot write them", () => {
    const onlyBooks = nested(Author, "books");
    const sent = { name: "x", profile: { bio: "y" }, books: [{ title: "a", tags: [{ name: "z" }] }] };
    expect(onlyBooks[bodyValidatorSymbol](Buffer.from(JSON.stringify(sent)))).toEqual({
      value: { name: "x", books: [{ title: "a" }] },
    });
  });

  it("All issues are listed with their places", () => {
    const sent = { books: [{ title: "a" }, { title: 5, tags: [{}, "x", null] }, "b"], profile: [] };
    const { issues } = read(sent) as { issues: { loc: unknown; type: string }[] };
    expect(issues.map(({ loc, type }) => [(loc as unknown[]).join("."), type])).toEqual([
      ["name", "missing"],
      ["books.1.title", "string_type"],
      ["books.1.tags.0.name", "missing"],
      ["books.1.tags.1", "int_parsing"],
      ["books.1.tags.2", "model_type"],
      ["books.2", "model_type"],
      ["profile", "model_type"],
    ]);
  });

  it("A value that is no list, and too many rows, are refused", () => {
    expect(read({ name: "x", books: {} })).toMatchObject({ issues: [{ loc: ["books"], type: "list_type" }] });
    const many = { name: "x", books: Array.from({ length: 1001 }, () => ({ title: "a" })) };
    expect(read(many)).toMatchObject({ issues: [{ loc: ["books"], type: "too_long" }] });
    expect(read([])).toMatchObject({ issues: [{ loc: ["body"], type: "model_type" }] });
    expect(body[bodyValidatorSymbol](Buffer.from("{"))).toMatchObject({ status: 400 });
  });

  it("The schema of a body shows its related rows", async () => {
    const { name, schema } = body[jsonSchemaSymbol]("input");
    expect(name).toBe("AuthorWithBooksAndProfile");
    const { properties } = schema as {
      properties: Record<string, { items: { properties: object; required: string[] } }>;
    };
    expect(Object.keys(properties["books"]!.items.properties)).toEqual(
      expect.arrayContaining(["title", "year", "tags"]),
    );
    expect(properties["books"]!.items.required).toEqual(["title"]);
    const app = new App().enableOpenapi();
    app.post("/authors", { body }, () => null);
    expect(JSON.stringify(await app.openapi())).toContain("AuthorWithBooksAndProfile");
  });

  it("Relations that are columns of the model, and names that are no relations, are refused", () => {
    const wrong = (name: string): unknown => nested(Book, name as "tags")[bodyValidatorSymbol](Buffer.from("{}"));
    expect(() => wrong("author")).toThrow("nested(): Book.author is no relation to rows that refer to it");
    expect(() => wrong("titel")).toThrow(/is no relation/);
    const untyped = nested as unknown as (...given: unknown[]) => unknown;
    expect(() => untyped(Tag)).toThrow(/takes the names of relations/);
    expect(() => untyped({}, "x")).toThrow(/takes a model's class/);
  });
});
