import assert from "node:assert/strict";
import { App, Response } from "stoa";
import {
  count,
  createTables,
  DoesNotExist,
  exists,
  F,
  field,
  type Manager,
  Model,
  max,
  outer,
  partial,
  Q,
  sum,
} from "stoa/orm";

/** Relations in both directions, lookups through them, annotations and routes whose bodies are models. */

class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  get books() {
    return field.reverse(() => Book, "author");
  },
}) {}

class Tag extends Model("tags", { id: field.auto(), name: field.char({ maxLength: 40, unique: true }) }) {}

class Book extends Model(
  "books",
  {
    id: field.auto(),
    title: field.char({ maxLength: 200 }),
    author: field.foreignKey(() => Author, { onDelete: "restrict" }),
    tags: field.manyToMany(() => Tag),
    year: field.int({ null: true }),
    price: field.decimal({ precision: 10, scale: 2, default: "0" }),
    status: field.enum(["draft", "published"], { default: "draft" }),
    createdAt: field.datetime({ autoNowAdd: true }),
    get loans() {
      return field.reverse(() => Loan, "book");
    },
  },
  { ordering: ["title"], indexes: [["year", "title"]], unique: [["author", "title"]] },
) {
  declare static objects: Manager<Book>;

  get label(): string {
    return `${this.title} (${this.year ?? "n.d."})`;
  }
}

class Loan extends Model("loans", {
  id: field.auto(),
  book: field.foreignKey(() => Book),
  days: field.int({ default: 14, check: "days > 0" }),
}) {}

const app = new App();
app.enableDatabase("pglite:");
app.onEvent("startup", () => createTables(app.database, [Author, Tag, Book, Loan]));
app.exceptionHandler(DoesNotExist, () => Response.json({ error: "Not found" }, 404));
app.post("/books", { body: Book, status: 201 }, (_, { body }) => Book.objects.create(body));
app.get("/books/{id}", ({ params }) => Book.objects.get({ id: Number(params.id) }));
app.patch("/books/{id}", { body: partial(Book) }, async ({ params }, { body }) => {
  await Book.objects.filter({ id: Number(params.id) }).update(body);
});
app.get("/books", ({ query }) =>
  Book.objects
    .filterFrom(query, ["year__gte", "author__name__icontains"])
    .orderFrom(query.get("order"), ["year", "title", "author__name"])
    .pageFrom(query, { by: "key", size: 20 }),
);
await app.start();

const [ursula, iain] = await Author.objects.bulkCreate([{ name: "Ursula K. Le Guin" }, { name: "Iain Banks" }]);
const [lavinia, matter] = await Book.objects.bulkCreate([
  { title: "Lavinia", author: ursula!, year: 2008, price: "9.99" },
  { title: "Matter", author: iain!, year: 2008, status: "published" },
]);
const sf = await Tag.objects.create({ name: "sf" });
await matter!.tags.add(sf);
await Loan.objects.create({ book: lavinia!.id });

const found = await Book.objects
  .filter({ year__gte: 2000, author__name__icontains: "le guin" })
  .exclude({ tags__name: "sf" })
  .selectRelated("author")
  .orderBy("-year", "author__name");
const names: string[] = found.map(({ author }) => author.name);
assert.deepEqual([names, found[0]?.label], [["Ursula K. Le Guin"], "Lavinia (2008)"]);
assert.equal(await Book.objects.filter(Q({ year: 1990 }).or({ tags__name: "sf" })).count(), 1);
const writers = await Author.objects
  .annotate({
    n: count("books"),
    newest: max("books__year"),
    lends: exists(Book.objects.filter({ author: outer("id") })),
  })
  .filter({ n__gte: 1 })
  .orderBy("name");
assert.deepEqual(
  writers.map(({ name, n, newest, lends }) => [name, n, newest, lends]),
  [
    ["Iain Banks", 1, 2008, true],
    ["Ursula K. Le Guin", 1, 2008, true],
  ],
);
assert.equal(await Book.objects.filter({ loans__days__gt: 7 }).update({ year: F("year").plus(1) }), 1);
assert.deepEqual(await Book.objects.aggregate({ total: sum("price") }), { total: "9.99" });
assert.deepEqual(await Book.objects.values("title", "tags__name"), [
  { title: "Lavinia", tags__name: null },
  { title: "Matter", tags__name: "sf" },
]);

const headers = { "content-type": "application/json" };
const send = (method: string, path: string, body: object) =>
  app.request(path, { method, headers, body: JSON.stringify(body) });
assert.equal((await send("POST", "/books", { title: "Gifts", author: 1 })).status, 201);
assert.equal((await send("POST", "/books", { title: 1 })).status, 400);
assert.equal((await send("PATCH", "/books/3", { year: 2004 })).status, 204);
assert.equal(((await (await app.request("/books/3")).json()) as { year: number }).year, 2004);
assert.equal((await app.request("/books/9")).status, 404);
assert.equal(((await (await app.request("/books?year__gte=2005")).json()) as { items: object[] }).items.length, 2);

export const refused = () => [
  // @ts-expect-error the model has no such field
  Book.objects.filter({ titel: "x" }),
  // @ts-expect-error a title is required
  Book.objects.create({ author: 1 }),
  // @ts-expect-error the year is a number
  Book.objects.filter({ year: "2000" }),
];

await app.stop();
console.log("library: ok");
