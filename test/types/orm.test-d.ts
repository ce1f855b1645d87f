import {
  avg,
  count,
  exists,
  extract,
  F,
  field,
  type Lazy,
  length,
  Model,
  max,
  median,
  min,
  mode,
  outer,
  percentileDisc,
  prefetch,
  Q,
  QuerySet,
  type RelatedSet,
  sum,
  truncate,
  when,
} from "stoa/orm";
import { assertType, describe, expectTypeOf, it } from "vitest";
import { Author, Book, Note, Profile, Tag } from "../orm/bookshop.js";

describe("the rows of a model", () => {
  it("The rows of a model have the types of their columns", () => {
    const book = new Book();
    expectTypeOf(book.id).toEqualTypeOf<number>();
    expectTypeOf(book.title).toEqualTypeOf<string>();
    expectTypeOf(book.year).toEqualTypeOf<number | null>();
    expectTypeOf(book.price).toEqualTypeOf<string>();
    expectTypeOf(book.status).toEqualTypeOf<"draft" | "published" | "sold_out">();
    expectTypeOf(book.keywords).toEqualTypeOf<string[]>();
    expectTypeOf(book.published).toEqualTypeOf<Date | null>();
    expectTypeOf(book.authorId).toEqualTypeOf<number>();
    expectTypeOf(book.label).toEqualTypeOf<string>();
    expectTypeOf(new Note().id).toEqualTypeOf<bigint>();
    expectTypeOf(new Note().deletedAt).toEqualTypeOf<Date | null>();
    expectTypeOf(new Profile().authorId).toEqualTypeOf<number>();
    expectTypeOf(new Author().mentorId).toEqualTypeOf<number | null>();
    // @ts-expect-error: no such field
    book.titel;
  });

  it("Relations are promises until they are loaded", async () => {
    const book = await Book.objects.get({ id: 1 });
    expectTypeOf(book.author).toEqualTypeOf<Author | Lazy<Author>>();
    expectTypeOf(await book.author).toEqualTypeOf<Author>();
    expectTypeOf((await book.author).books).toEqualTypeOf<RelatedSet<Book>>();
    // @ts-expect-error Rows of another model.
    void ((await book.author).books satisfies RelatedSet<Author>);
    expectTypeOf(await (await book.author).mentor).toEqualTypeOf<Author | null>();
    // @ts-expect-error: not loaded
    book.author.name;
    const loaded = await Book.objects.selectRelated("author__country").get({ id: 1 });
    expectTypeOf(loaded.author.name).toEqualTypeOf<string>();
    expectTypeOf(loaded.author.shout).toEqualTypeOf<string>();
    expectTypeOf(loaded.author.country?.code).toEqualTypeOf<string | undefined>();
    expectTypeOf(loaded.label).toEqualTypeOf<string>();
    const author = await Author.objects.prefetchRelated("books__tags", "profile").get({ id: 1 });
    expectTypeOf(author.books[0]!.tags[0]!.name).toEqualTypeOf<string>();
    expectTypeOf(author.profile?.bio).toEqualTypeOf<string | undefined>();
  });

  it("Rows of only() have only the selected fields", async () => {
    const book = await Book.objects.only("title").get({ id: 1 });
    expectTypeOf(book.id).toEqualTypeOf<number>();
    expectTypeOf(book.title).toEqualTypeOf<string>();
    // @ts-expect-error: not loaded
    book.year;
    // @ts-expect-error: no such field
    Book.objects.only("titel");
    // @ts-expect-error: not loaded
    (await Book.objects.defer("year").get({ id: 1 })).year;
  });

  it("Rows of only() and defer() have only the selected fields of related rows", async () => {
    const book = await Book.objects.selectRelated("author__country").only("title", "author__name").get({ id: 1 });
    expectTypeOf(book.author.name).toEqualTypeOf<string>();
    expectTypeOf(book.authorId).toEqualTypeOf<number>();
    expectTypeOf(book.author.country?.code).toEqualTypeOf<string | undefined>();
    // @ts-expect-error: not loaded
    book.author.email;
    // @ts-expect-error: not loaded
    book.year;
    const author = await Author.objects.prefetchRelated("books__tags").defer("books__year", "email").get({ id: 1 });
    expectTypeOf(author.books[0]!.title).toEqualTypeOf<string>();
    expectTypeOf(author.books[0]!.tags[0]!.name).toEqualTypeOf<string>();
    // @ts-expect-error: not loaded
    author.books[0]!.year;
    // @ts-expect-error: not loaded
    author.email;
    // @ts-expect-error: the relation is not loaded
    Book.objects.only("author__name");
    // @ts-expect-error: no such field
    Book.objects.selectRelated("author").only("author__nam");
    // @ts-expect-error: the relation is not loaded
    Book.objects.selectRelated("author").defer("author__country__code");
  });
});

describe("lookups", () => {
  it("Lookups are checked, through relations too", () => {
    const { objects } = Book;
    objects.filter({ year__gte: 2000, author__name__icontains: "le guin" });
    objects.filter({ author: 1, author__in: [1, new Author()], authorId: 3, authorId__in: [1], pk: 1, pk__in: [1] });
    objects.filter({ author__mentor__country__code: "us", author__books__tags__name__in: ["sf"] });
    objects.filter({
      published__year: 2000,
      published__year__gte: 2000,
      published__date: "2000-01-01",
      title__length__gt: 3,
    });
    objects.filter({ keywords__contains: ["sea"], keywords__len: 2, keywords__0: "sea", status__in: ["draft"] });
    objects.filter({ year: null, year__isnull: true, year__range: [1, 2], author__mentor: null });
    objects.filter({ stock__lt: F("year"), author__in: Author.objects.filter({ name: "x" }) });
    Profile.objects.filter({
      settings__theme: "dark",
      settings__deep__on: true,
      settings__sizes__0__gt: 1,
      settings__hasKey: "theme",
    });
    objects.filter(Q({ year: 2000 }).or({ title__startswith: "A" }).not());
    objects.exclude(Q.or({ year: 2000 }, { year: null }));
  });

  it("Lookups of unknown fields do not compile", () => {
    const { objects } = Book;
    // @ts-expect-error: no such field
    objects.filter({ titel: "x" });
    // @ts-expect-error: no such field
    objects.filter({ author__nam: "x" });
    // @ts-expect-error: no such field
    objects.filter({ author__mentor__books__titel: "x" });
    // @ts-expect-error: no such field
    objects.get({ authorid: 1 });
    // @ts-expect-error: no such field
    objects.filter(Q({ titel: "x" }));
    // @ts-expect-error: no such field
    objects.exclude(Q({ title: "x" }).or({ yaer: 1 }));
    // @ts-expect-error: no such key
    Profile.objects.filter({ settings__colour: "dark" });
  });

  it("Lookups that a field does not have do not compile", () => {
    const { objects } = Book;
    // @ts-expect-error: no such lookup
    objects.filter({ year__gre: 2000 });
    // @ts-expect-error: no such lookup
    objects.filter({ published__icontains: "x" });
    // @ts-expect-error: no such lookup
    objects.filter({ author__name__hasKey: "x" });
    // @ts-expect-error: no such lookup
    objects.filter({ title__year: 2000 });
  });

  it("Lookups with values of the wrong type do not compile", () => {
    const { objects } = Book;
    // @ts-expect-error: a string for a number
    objects.filter({ year: "2000" });
    // @ts-expect-error: a string for a number
    objects.filter({ year__in: ["2000"] });
    // @ts-expect-error: null for a field that is never null
    objects.filter({ title: null });
    // @ts-expect-error: not one of the values
    objects.filter({ status: "gone" });
    // @ts-expect-error: a string for a boolean
    objects.filter({ year__isnull: "yes" });
    // @ts-expect-error: an instance of another model
    objects.filter({ author: new Note() });
    // @ts-expect-error: a string for a number
    objects.filter({ author__id: "1" });
    // @ts-expect-error: input of unknown shape
    objects.filter({} as Record<string, unknown>);
    // @ts-expect-error: a string for a boolean
    Profile.objects.filter({ settings__deep__on: "yes" });
  });
});

describe("orders, values and annotations", () => {
  it("Orders, values and annotations are checked", () => {
    const { objects } = Book;
    objects.orderBy("-year", "author__name", "?", F("price").desc({ nulls: "last" }));
    // @ts-expect-error: no such field
    objects.orderBy("yaer");
    // @ts-expect-error: no such field
    objects.orderBy("-author__nam");
    // @ts-expect-error: no such field
    objects.orderBy(F("yaer").desc());
    // @ts-expect-error: no such field
    objects.values("titel");
    // @ts-expect-error: no such field
    objects.annotate({ n: count("author__boks") });
    // @ts-expect-error: leads to many
    Author.objects.selectRelated("books");
    // @ts-expect-error: no such relation
    Author.objects.prefetchRelated("boks");
    // @ts-expect-error: no such field
    objects.distinct("titel");
  });

  it("Values and annotations give typed rows", async () => {
    const rows = await Book.objects.values("id", "author__name", "author__mentor__name", "year");
    expectTypeOf(rows[0]!).toEqualTypeOf<{
      id: number;
      author__name: string;
      author__mentor__name: string | null;
      year: number | null;
    }>();
    const lists = await Book.objects.valuesList("id", "title");
    expectTypeOf(lists[0]!).toEqualTypeOf<[number, string]>();
    expectTypeOf(await Book.objects.flat("title")).toEqualTypeOf<string[]>();
    const author = await Author.objects
      .annotate({ n: count("books"), newest: max("books__published"), twin: F("name") })
      .get({ n__gte: 1 });
    expectTypeOf(author.n).toEqualTypeOf<number>();
    expectTypeOf(author.newest).toEqualTypeOf<Date | null>();
    expectTypeOf(author.twin).toEqualTypeOf<string>();
    expectTypeOf(author.shout).toEqualTypeOf<string>();
    const totals = await Book.objects.aggregate({ total: sum("price"), mean: avg("year"), n: count() });
    expectTypeOf(totals).toEqualTypeOf<{ total: string | null; mean: number | null; n: number }>();
    const groups = await Book.objects
      .values("status")
      .annotate({ n: count("id") })
      .filter({ n__gt: 1 })
      .orderBy("-n");
    assertType<string>(groups[0]!.status);
    assertType<number>(groups[0]!.n);
  });
});

describe("wrong uses", () => {
  it("Wrong uses of fields in expressions are type errors", () => {
    // @ts-expect-error: no such field
    Book.objects.filter({ stock__lt: F("yaer") });
    // @ts-expect-error: a text for a number
    Book.objects.filter({ stock__lt: F("title") });
    // @ts-expect-error: no such field
    Book.objects.update({ stock: F("stok").plus(1) });
    // @ts-expect-error: a text for a number
    Book.objects.update({ stock: F("title") });
    Book.objects.annotate({ kind: when({ stock: 0 }, "none").otherwise("some") });
    // @ts-expect-error: no such field
    Book.objects.annotate({ kind: when({ stok: 0 }, "none").otherwise("some") });
    // @ts-expect-error: a string for a number
    Book.objects.annotate({ kind: when({ stock: "0" }, "none").otherwise("some") });
    Author.objects.annotate({ n: count("books").filter({ year__gte: 2000 }) });
    // @ts-expect-error: no such field of the related rows
    Author.objects.annotate({ n: count("books").filter({ yaer: 2000 }) });
    // @ts-expect-error: a string for a number
    Author.objects.annotate({ n: count("books").filter({ year: "2000" }) });
    Author.objects.annotate({ writes: exists(Book.objects.filter({ author: outer("id") })) });
    // @ts-expect-error: no such field of the query around it
    Author.objects.annotate({ writes: exists(Book.objects.filter({ author: outer("idd") })) });
    // @ts-expect-error: the name of a field
    Author.objects.annotate({ name: count("books") });
  });

  it("Sums and averages of fields without numbers are type errors", () => {
    Book.objects.aggregate({ a: sum("price"), b: avg("year"), c: sum("author__id"), d: sum("title__length") });
    Author.objects.annotate({ a: sum("books__price"), b: avg("books__stock").filter({ year: 2000 }), c: median("id") });
    Author.objects.annotate({ n: count("books"), p: sum("books__price") }).aggregate({ a: sum("n"), b: avg("p") });
    Book.objects.aggregate({
      a: sum(F("stock").times(2)),
      b: sum(length("title")),
      c: min("title"),
      d: max("published"),
    });
    // @ts-expect-error: a text
    Book.objects.aggregate({ a: sum("title") });
    // @ts-expect-error: a text
    Book.objects.annotate({ a: avg("title").over({ partitionBy: ["author"] }) });
    // @ts-expect-error: a text of related rows
    Author.objects.annotate({ a: sum("books__title").filter({ year: 2000 }) });
    // @ts-expect-error: a time
    Author.objects.annotate({ a: median("books__published") });
    // @ts-expect-error: JSON
    Profile.objects.aggregate({ a: avg("settings__sizes__0") });
  });

  it("Queries and rows of another model are type errors, and so is an unknown relation", async () => {
    Author.objects.prefetchRelated(prefetch("books", Book.objects.filter({ year: 1 })));
    // @ts-expect-error: the query is for another model
    Author.objects.prefetchRelated(prefetch("books", Tag.objects.all()));
    // @ts-expect-error: no such relation
    Author.objects.prefetchRelated(prefetch("boks", Book.objects.all()));
    // @ts-expect-error: rows of another model
    Book.objects.filter({ author__in: [new Tag()] });
    // @ts-expect-error: rows of another model
    Book.objects.filter({ author__in: Tag.objects.all() });
    const tags = (await Book.objects.get({ id: 1 })).related("tags");
    tags.add(new Tag(), 1);
    // @ts-expect-error: a row of another model
    tags.add(new Author());
  });

  it("Names of unknown fields, names that lead to many rows and wrong lookups are type errors", () => {
    Book.objects.filterFrom({}, ["year__gte", "author__name"]);
    // @ts-expect-error: no such field
    Book.objects.filterFrom({}, ["yaer"]);
    // @ts-expect-error: no such field
    Book.objects.orderFrom("", ["yaer"]);
    // @ts-expect-error: leads to many
    Book.objects.orderBy("tags__name");
    // @ts-expect-error: leads to many
    Author.objects.distinct("books__title");
    // @ts-expect-error: a lookup of texts on a number
    Book.objects.filter({ year__contains: "20" });
    // @ts-expect-error: no such field
    Book.objects.bulkCreate([], { onConflict: "update", conflictFields: ["titel"] });
  });
});

describe("writing", () => {
  it("create() needs every column without a value of its own", () => {
    Book.objects.create({ title: "x", author: new Author() });
    Book.objects.create({ title: "x", author: 1 });
    Book.objects.create({ title: "x", authorId: 1, year: null, price: 3n, keywords: ["a"] });
    Author.objects.create({ name: "x" });
    // @ts-expect-error: title is missing
    Book.objects.create({ author: 1 });
    // @ts-expect-error: author is missing
    Book.objects.create({ title: "x" });
    // @ts-expect-error: no such field
    Book.objects.create({ title: "x", author: 1, yaer: 1 });
    // @ts-expect-error: a string for a number
    Book.objects.create({ title: "x", author: 1, year: "1" });
    // @ts-expect-error: null for a column that is never null
    Book.objects.create({ title: null, author: 1 });
  });

  it("The values of update() are checked", () => {
    Book.objects.update({ stock: F("stock").minus(1), author: 1 });
    // @ts-expect-error: no such field
    Book.objects.update({ stok: 1 });
    // @ts-expect-error: a string for a number
    Book.objects.update({ stock: "1" });
    // @ts-expect-error: no such field
    Book.objects.bulkUpdate([], ["stok"]);
    Book.objects.getOrCreate({ title: "x", author: 1 }, { year: 1 });
    // @ts-expect-error: no such field
    Book.objects.getOrCreate({ titel: "x" });
  });
});

describe("declaring", () => {
  it("The options of fields are checked", () => {
    // @ts-expect-error: no such option
    field.int({ nul: true });
    // @ts-expect-error: maxLength is missing
    field.char({ null: true });
    // @ts-expect-error: a string as the default of a number
    field.int({ default: "1" });
    // @ts-expect-error: not one of the values
    field.enum(["a", "b"], { default: "c" });
    // @ts-expect-error: no such field
    Model("x", { id: field.auto() }, { indexes: [["name"]] });
    expectTypeOf(field.char({ max_length: 10 })).toEqualTypeOf(field.char({ maxLength: 10 }));
  });

  it("A static method of a model keeps its queryset's type", () => {
    expectTypeOf(Book.recent()).toEqualTypeOf<QuerySet<Book>>();
  });
});

describe("values of to-many relations", () => {
  it("Values of to-many relations may be null, and can be ordered and filtered by after values()", async () => {
    const rows = await Book.objects.values("title", "tags__name").filter({ tags__name: "sf" }).orderBy("-tags__name");
    expectTypeOf(rows).toEqualTypeOf<{ title: string; tags__name: string | null }[]>();
    const groups = await Book.objects.values("tags__name").annotate({ n: count() }).orderBy("tags__name");
    expectTypeOf(groups[0]!.n).toEqualTypeOf<number>();
    expectTypeOf(groups[0]!.tags__name).toEqualTypeOf<string | null>();
    expectTypeOf(await Author.objects.flat("books__title")).toEqualTypeOf<(string | null)[]>();
    // @ts-expect-error: no such field
    Book.objects.values("tags__nam");
    // @ts-expect-error: not selected
    Book.objects.values("title").orderBy("tags__name");
  });
});

describe("pages", () => {
  it("pageFrom() returns pages by number, or by key", async () => {
    const page = await Book.objects.values("id").pageFrom(new URLSearchParams(), { size: 10, maxPage: 5 });
    expectTypeOf(page.items).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(page.total).toEqualTypeOf<number>();
    const keys = await Book.objects.pageFrom({ after: "x" }, { by: "key" });
    expectTypeOf(keys.next).toEqualTypeOf<string | null>();
    expectTypeOf(keys.items).toEqualTypeOf<Book[]>();
    // @ts-expect-error: pages by key have no numbers
    Book.objects.pageFrom({}, { by: "key", maxPage: 5 });
  });
});

describe("time zones and further aggregates", () => {
  it("Functions with a time zone and percentiles have the types of their results", async () => {
    const rows = await Book.objects.inTimeZone("Europe/Berlin").annotate({
      day: truncate("day", "published", { timeZone: "Europe/Berlin" }),
      hour: extract("hour", "published", { timeZone: "Europe/Berlin" }),
    });
    expectTypeOf(rows[0]!.day).toEqualTypeOf<Date>();
    expectTypeOf(rows[0]!.hour).toEqualTypeOf<number>();
    const all = await Book.objects.aggregate({
      m: median("stock"),
      d: percentileDisc(0.5, "title"),
      o: mode("status"),
    });
    expectTypeOf(all.m).toEqualTypeOf<number | null>();
    expectTypeOf(all.d).toEqualTypeOf<string | null>();
    expectTypeOf(all.o).toEqualTypeOf<"draft" | "published" | "sold_out" | null>();
    // @ts-expect-error: no such field
    Book.objects.aggregate({ m: median("stok") });
    // @ts-expect-error: no such option
    truncate("day", "published", { zone: "Europe/Berlin" });
  });
});

describe("joins and recursion", () => {
  const stats = Book.objects.values("author").annotate({ n: count(), newest: max("year") });

  it("Joined values have the types of the other rows", async () => {
    const select = { bookCount: "n", newest: "newest" } as const;
    const rows = await Author.objects.innerJoin(stats, { on: { id: "author" }, select }).filter({ bookCount__gte: 1 });
    expectTypeOf(rows[0]!.bookCount).toEqualTypeOf<number>();
    expectTypeOf(rows[0]!.newest).toEqualTypeOf<number | null>();
    expectTypeOf(rows[0]!.shout).toEqualTypeOf<string>();
    const left = await Author.objects.leftJoin(stats, { on: { id: "author" }, select: { n: "n" } }).orderBy("-n");
    expectTypeOf(left[0]!.n).toEqualTypeOf<number | null>();
    const books = await Note.objects.innerJoin(Book.objects.all(), { on: { text: "title" }, select: { year: "year" } });
    expectTypeOf(books[0]!.year).toEqualTypeOf<number | null>();
    // @ts-expect-error: no such value
    Author.objects.innerJoin(stats, { on: { id: "autor" } });
    // @ts-expect-error: no such field
    Author.objects.innerJoin(stats, { on: { idd: "author" } });
    // @ts-expect-error: a text is not compared with a number
    Author.objects.innerJoin(stats, { on: { name: "n" } });
    // @ts-expect-error: no such value
    Author.objects.innerJoin(stats, { on: { id: "author" }, select: { x: "y" } });
    // @ts-expect-error: the name of a field
    Author.objects.innerJoin(stats, { on: { id: "author" }, select: { name: "n" } });
  });

  it("recursive() takes relations of a model to itself", async () => {
    const rows = await Author.objects.filter({ id: 1 }).recursive("mentor", { depth: "steps" }).orderBy("-steps");
    expectTypeOf(rows[0]!.steps).toEqualTypeOf<number>();
    expectTypeOf(rows[0]!.shout).toEqualTypeOf<string>();
    expectTypeOf(await Author.objects.recursive("mentor").first()).toEqualTypeOf<Author | null>();
    // @ts-expect-error: leads to another model
    Author.objects.recursive("books");
    // @ts-expect-error: no such relation
    Author.objects.recursive("mentr");
  });
});

class PaperSet extends QuerySet<Paper> {
  published() {
    return this.filter({ status: "published" });
  }

  since(year: number) {
    return this.filter({ year__gte: year }).orderBy("-year");
  }

  async titles(): Promise<string[]> {
    return this.flat("title").toArray();
  }
}

class Paper extends Model("papers", {
  id: field.auto(),
  title: field.text(),
  status: field.text(),
  year: field.int(),
}) {
  static override get objects() {
    return PaperSet.of(Paper);
  }

  get label(): string {
    return this.title;
  }
}

describe("querysets of one's own", () => {
  it("Methods of a queryset class are there after every other method, with the type of the rows", async () => {
    const papers = await Paper.objects.published().since(2000).filter({ id: 1 }).published();
    expectTypeOf(papers[0]!.label).toEqualTypeOf<string>();
    const next = Paper.objects.annotate({ next: F("year").plus(1) }).published();
    expectTypeOf((await next.since(1))[0]!.next).toEqualTypeOf<number>();
    const rows = await next.filter({ next__gt: 1 }).since(1).values("title", "next").published();
    expectTypeOf(rows).toEqualTypeOf<{ title: string; next: number }[]>();
    expectTypeOf(await Paper.objects.since(1).titles()).toEqualTypeOf<string[]>();
    // @ts-expect-error: no such method
    Paper.objects.filter({ id: 1 }).publishd();
    // @ts-expect-error: no such method
    next.publishd();
    // @ts-expect-error: a year is a number
    next.since("2000");
    // @ts-expect-error: methods of another model
    Book.objects.published();
  });
});
