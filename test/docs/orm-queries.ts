import { App } from "stoa";
import { count, F, field, Model, max, median, QuerySet, sum, truncate, View } from "stoa/orm";

/** The code of docs/orm-queries.md: every line of it stands here, where it is compiled and, by its test, run. */

class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  biography: field.text({ default: "" }),
  get books() {
    return field.reverse(() => Book, "author");
  },
}) {}

class Tag extends Model("tags", { id: field.auto(), name: field.char({ maxLength: 40 }) }) {}

class Book extends Model("books", {
  id: field.auto(),
  title: field.char({ maxLength: 200 }),
  author: field.foreignKey(() => Author),
  tags: field.manyToMany(() => Tag),
  status: field.enum(["draft", "published"], { default: "draft" }),
  price: field.decimal({ precision: 8, scale: 2, default: "0" }),
  pages: field.int({ default: 0 }),
  year: field.int({ null: true }),
  soldAt: field.datetime({ null: true }),
}) {}

class Shelf extends View(
  "shelves",
  {
    author: field.oneToOne(() => Author, { primaryKey: true }),
    books: field.int(),
    worth: field.decimal({ precision: 12, scale: 2 }),
  },
  { as: () => Book.objects.values("author").annotate({ books: count(), worth: sum("price") }) },
) {}

class Year extends View(
  "years",
  { year: field.int({ primaryKey: true }), books: field.int() },
  {
    as: "select year, count(*) as books from books where year is not null group by year",
    materialized: true,
    indexes: [{ fields: ["-books"] }],
  },
) {}

class Category extends Model("categories", {
  id: field.auto(),
  name: field.text(),
  get parent() {
    return field.foreignKey(() => Category, { null: true });
  },
  get children() {
    return field.reverse(() => Category, "parent");
  },
}) {}

class PaperSet extends QuerySet<Paper> {
  published() {
    return this.filter({ status: "published" });
  }
  since(year: number) {
    return this.filter({ year__gte: year });
  }
}

class Paper extends Model("papers", {
  id: field.auto(),
  title: field.text(),
  status: field.text({ default: "draft" }),
  year: field.int(),
}) {
  static override get objects() {
    return PaperSet.of(Paper);
  }
}

export const models = [Author, Tag, Book, Shelf, Year, Category, Paper];

export async function seed(): Promise<void> {
  const author = await Author.objects.create({ name: "Ursula K. Le Guin", biography: "Long" });
  const [sf, classic] = await Tag.objects.bulkCreate([{ name: "sf" }, { name: "classic" }]);
  const soldAt = "2024-03-31T22:30:00Z";
  const book = { author, status: "published" } as const;
  const [first] = await Book.objects.bulkCreate([
    { ...book, title: "The Dispossessed", year: 1974, pages: 300, price: "8.00", soldAt },
    { ...book, title: "Lavinia", year: 2008, pages: 280, price: "4.50" },
  ]);
  await first!.related("tags").add(sf!, classic!);
  const fruit = await Category.objects.create({ name: "Fruit" });
  const apple = await Category.objects.create({ name: "Apple", parent: fruit });
  await Category.objects.create({ name: "Gala", parent: apple });
  await Paper.objects.bulkCreate([
    { title: "a", status: "published", year: 2024 },
    { title: "b", year: 2024 },
    { title: "c", status: "published", year: 2001 },
  ]);
}

export async function relatedFields() {
  const books = await Book.objects.selectRelated("author").only("title", "author__name");
  books[0]?.author.name;

  const authors = await Author.objects.prefetchRelated("books__tags").defer("biography", "books__price");
  authors[0]?.books[0]?.tags;
  return [books, authors] as const;
}

export async function relatedValues() {
  return [
    await Book.objects.values("title", "tags__name").orderBy("title", "tags__name"),
    await Book.objects
      .values("tags__name")
      .annotate({ books: count(), newest: max("year") })
      .orderBy("-books"),
    await Book.objects.filter({ tags__name: "sf" }).values("title", "tags__name").filter({ tags__name__ne: "sf" }),
  ] as const;
}

export function routes(): App {
  const app = new App();
  app.get("/books", ({ query }) =>
    Book.objects
      .filterFrom(query, ["year__gte", "author__name__icontains"])
      .orderFrom(query.get("order"), ["year", "title", "author__name"])
      .pageFrom(query, { by: "key", size: 20, maxSize: 50 }),
  );
  return app;
}

export async function timeZones() {
  const berlin = Book.objects.inTimeZone("Europe/Berlin");
  const sold = [
    await berlin.filter({ soldAt__date: "2024-04-01" }).count(),
    await berlin.values("soldAt__month").annotate({ sold: count() }).orderBy("soldAt__month"),
  ];

  const day = truncate("day", "soldAt", { timeZone: "Europe/Berlin" });
  return [...sold, await Book.objects.annotate({ day }).values("day").annotate({ sold: count() }).orderBy("day")];
}

export async function aggregates() {
  return await Author.objects.annotate({
    typical: median("books__pages"),
    recent: median("books__pages").filter({ year__gte: 2020 }),
  });
}

export async function trees() {
  return [
    await Category.objects.filter({ name: "Fruit" }).recursive("children"),
    await Category.objects.filter({ name: "Gala" }).recursive("parent", { self: false }),
    await Category.objects.filter({ parent: null }).recursive("children", { depth: "level" }).orderBy("level", "name"),
  ] as const;
}

export async function selects() {
  const [written, counted, worth, finished, newest] = [
    await Book.objects.annotate({ writer: F("author__name") }).values("title", "writer"),
    await Author.objects.annotate({ n: count("books") }).values("name", "n"),
    await Book.objects
      .values("author__name")
      .annotate({ worth: sum("price") })
      .filter({ worth__gt: "9" }),
    await Author.objects.exclude({ books__status: "draft" }).flat("name"),
    await Book.objects.distinct("author").orderBy("author", "-year").values("author__name", "title"),
  ] as const;
  const types: [
    { title: string; writer: string }[],
    { name: string; n: number }[],
    { author__name: string; worth: string | null }[],
    string[],
    { author__name: string; title: string }[],
  ] = [written, counted, worth, finished, newest];
  return types;
}

export async function views() {
  const rows = await Shelf.objects.filter({ books__gte: 2 }).selectRelated("author").orderBy("-worth");
  await Year.refresh({ concurrently: true });
  return [rows, await Year.objects.orderBy("year")] as const;
}

export async function joins() {
  const sales = Book.objects
    .filter({ status: "published" })
    .values("author")
    .annotate({ n: count(), newest: max("year") });
  return await Author.objects
    .leftJoin(sales, { on: { id: "author" }, select: { published: "n", newest: "newest" } })
    .filter({ published__gte: 2 })
    .orderBy("-published");
}

export async function scopes() {
  return [
    await Paper.objects.published().since(2020).orderBy("-year"),
    await Paper.objects
      .annotate({ decade: F("year").dividedBy(10) })
      .since(2020)
      .values("title", "decade")
      .published(),
  ] as const;
}
