import { App } from "stoa";
import { field, Model, type ModelBody, partial, timestamps } from "stoa/orm";
import { describe, expectTypeOf, it } from "vitest";

class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  get mentor() {
    return field.foreignKey(() => Author, { null: true });
  },
}) {}

class Book extends Model("books", {
  id: field.auto(),
  title: field.char({ maxLength: 200 }),
  author: field.foreignKey(() => Author),
  year: field.int({ null: true }),
  price: field.decimal({ default: "0" }),
  sold: field.bigInt(),
  published: field.datetime(),
  isbn: field.text({ readOnly: true }),
  label: field.text({ generated: "title" }),
  tags: field.manyToMany(() => Author),
  ...timestamps(),
}) {}

interface BookBody {
  title: string;
  authorId: number;
  year?: number | null;
  price?: string;
  sold: bigint;
  published: Date;
}

describe("a body that is a model", () => {
  it("The body of a model has its columns, with relations by their keys, without those that clients cannot write", () => {
    new App().post("/books", { body: Book }, (_request, { body }) => {
      expectTypeOf(body).toEqualTypeOf<BookBody>();
    });
    expectTypeOf<ModelBody<Author>>().toEqualTypeOf<{ name: string; mentorId?: number | null }>();
  });

  it("create() accepts the body of a model if no read-only column is missing", () => {
    new App().post("/authors", { body: Author }, (_request, { body }) => Author.objects.create(body));
    new App().post("/books", { body: Book }, (_request, { body }) => {
      // @ts-expect-error isbn is required and never sent
      void Book.objects.create(body);
      return Book.objects.create({ ...body, isbn: "x" });
    });
  });

  it("update() accepts a partial body", () => {
    new App().patch("/books/{id}", { body: partial(Book) }, (_request, { body }) => {
      expectTypeOf(body).toEqualTypeOf<Partial<BookBody>>();
      return Book.objects.filter({ id: 1 }).update(body);
    });
    // @ts-expect-error no model
    partial(Date);
  });
});
