import { type App, type Database, Response, sql, UniqueViolation } from "stoa";
import { migrate } from "stoa/migrations";
import {
  type CreateInput,
  count,
  DoesNotExist,
  exists,
  F,
  field,
  lower,
  Model,
  outer,
  partial,
  Q,
  raw,
  sum,
} from "stoa/orm";

/** The code of docs/coming-from.md: every line of it stands here, where it is compiled and, by its test, run. */

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
    price: field.decimal({ precision: 10, scale: 2, min: 0 }),
    stock: field.int({ default: 0, check: "stock >= 0" }),
    status: field.enum(["draft", "published"], { default: "draft" }),
    createdAt: field.datetime({ autoNowAdd: true }),
  },
  { ordering: ["title"], indexes: [["year", "title"]], unique: [["author", "title"]] },
) {}

export class Secret extends Model("secrets", { id: field.auto(), password: field.text({ hidden: true }) }) {}

export const models = [Author, Tag, Book, Secret];

class SoldOut extends Error {}

/** Three books of one author, and one of another. */
export async function seed(): Promise<void> {
  const [ursula, iain] = await Author.objects.bulkCreate([{ name: "Ursula K. Le Guin" }, { name: "Iain Banks" }]);
  const books = await Book.objects.bulkCreate([
    { title: "Lavinia", author: ursula!, year: 2008, price: "9.99", stock: 1 },
    { title: "Powers", author: ursula!, year: 2007, price: "8.00" },
    { title: "Tehanu", author: ursula!, year: 1990, price: "7.50" },
    { title: "Matter", author: iain!, year: 2008, price: "11.00", status: "published" },
  ]);
  const sf = await Tag.objects.create({ name: "sf" });
  await books[3]!.tags.add(sf);
}

/** The queries that the page shows in all dialects. */
export async function sameQueries(id: number): Promise<unknown[]> {
  const books = await Book.objects
    .filter({ year__gte: 2000, author__name__icontains: "le guin" })
    .selectRelated("author")
    .orderBy("-year")
    .limit(20);
  const authors = await Author.objects.annotate({ bookCount: count("books") }).filter({ bookCount__gte: 3 });
  const taken = await Book.objects.filter({ id, stock__gt: 0 }).update({ stock: F("stock").minus(1) });
  if (taken === 0) throw new SoldOut();
  return [books.map(({ title, author }) => [title, author.name]), authors.map(({ bookCount }) => bookCount), taken];
}

export async function fromDjango(db: Database, f: () => void, send: () => void): Promise<unknown[]> {
  const { objects } = Book;
  const year = 2008;
  const rows = [{ name: "utopia" }, { name: "draft" }];
  const book = await Book.objects.get({ title: "Matter" });
  const tag = await Tag.objects.get({ name: "sf" });
  const author = await book.author;
  await book.tags.add(tag);
  await Tag.objects.getOrCreate({ name: "sf" });
  await Tag.objects.bulkCreate(rows);
  await db.transaction(async () => {});
  await db.transaction(async (tx) => {
    tx.onCommit(send);
    await objects.forUpdate({ skipLocked: true });
  });
  const stop = Book.on("beforeSave", f);
  book.year = 2009;
  await book.save();
  stop();
  return [
    await objects.filter({ author__name: "x" }),
    await objects.filter(Q({ year: 2000 }).or({ stock__gt: 0 })),
    await objects.exclude({ tags__name: "draft" }),
    await objects.annotate({ twice: F("price").times(2) }),
    await objects.get({ id: 1 }),
    await objects.getOrNull({ id: 1 }),
    await objects.flat("title"),
    await objects.values("status").annotate({ n: count() }),
    await objects.selectRelated("author"),
    await objects.prefetchRelated("tags"),
    await Book.objects.page(2, 20),
    await Book.raw(sql`select * from books where year = ${year}`),
    author.name,
  ];
}

export function routes(app: App): void {
  app.exceptionHandler(DoesNotExist, () => Response.json({ error: "Not found" }, 404));
  app.post("/books", { body: Book }, (_, { body }) => Book.objects.create(body));
  app.patch("/books/{id}", { body: partial(Book) }, async (request, { body }) => {
    await Book.objects.filter({ id: Number(request.params.id) }).update(body);
  });
}

export async function fromPrisma(db: Database, after?: string): Promise<unknown[]> {
  const { objects } = Book;
  const id = 1;
  const title = "Voices";
  const rows = [{ name: "sf" }, { name: "fantasy" }];
  const input: CreateInput<Book> = { title, author: 1, price: "9.99" };
  await Tag.objects.bulkCreate(rows, { onConflict: "ignore" });
  await Book.objects.create({ title, author: 1, price: "9.99" });
  const conflict = await Book.objects.create(input).catch((error: unknown) => error instanceof UniqueViolation);
  await Book.objects.updateOrCreate({ author: 1, title }, { price: "9.99" });
  const author = await Author.objects.get({ id: 1 });
  await author.save({ related: { books: { update: [{ id: 1, stock: 5 }] } } });
  await db.transaction(async () => {});
  return [
    conflict,
    await Book.objects.filter({ year: 2008 }),
    await Book.objects.get({ id: 1 }),
    await Book.objects.getOrNull({ id: 1 }),
    await objects.filter({ year__gte: 2000, year__lt: 2010 }),
    await objects.filter({ id__in: [1, 2] }),
    await objects.filter({ title__icontains: "sea" }),
    await objects.filter({ tags__name: "sf" }),
    await objects.exclude({ tags__name: "sf" }),
    await objects.selectRelated("author").prefetchRelated("tags"),
    await objects.values("id", "title"),
    await objects.orderBy("-year", "title"),
    await objects.update({ stock: F("stock").plus(5) }),
    await Book.objects.filter({ year: null }).delete(),
    await Book.objects.aggregate({ total: sum("price") }),
    await db.sql`select ${id}::int`,
    await Book.objects.orderBy("id").keyset({ size: 20, after }),
  ];
}

export async function fromDrizzle(): Promise<unknown[]> {
  const { objects } = Book;
  const name = "drama";
  const [first, second] = [Book.objects.filter({ year: 2008 }), Book.objects.filter({ stock: 0 })];
  await Tag.objects.create({ name });
  await Tag.objects.bulkCreate([{ name }], { onConflict: "update", conflictFields: ["name"] });
  return [
    await Book.objects.all(),
    await objects.filter({ year__gte: 2000, stock: 0 }),
    await objects.orderBy("-year"),
    await objects.values("status").annotate({ n: count() }).filter({ n__gt: 10 }),
    await Book.objects.update({ stock: 0 }),
    await objects.annotate({ small: lower("title"), size: raw<number>(sql`length(title)`) }),
    await Author.objects.annotate({ writes: exists(Book.objects.filter({ author: outer("id") })) }),
    await first.union(second),
    Book.objects.all().toSql(),
  ];
}

export async function startup(db: Database, directory: URL): Promise<void> {
  await migrate(db, { directory });
}
