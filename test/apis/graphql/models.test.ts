import { type App, openDatabase } from "stoa";
import { bindDatabase, createTables, field, Model } from "stoa/orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { noSpan } from "../../../src/batteries/telemetry/trace/no-tracer.js";
import type { Attributes } from "../../../src/kit/tracer.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { dataOf, errorsOf, post, quietApp } from "./support.js";

class Author extends Model("graphql_authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  secret: field.text({ hidden: true, default: "hidden" }),
  get books() {
    return field.reverse(() => Book, "author");
  },
}) {}

class Book extends Model("graphql_books", {
  id: field.bigAuto(),
  title: field.char({ maxLength: 200 }),
  author: field.foreignKey(() => Author),
  year: field.int({ null: true }),
  genre: field.enum(["fiction", "science"], { default: "fiction" }),
  price: field.decimal({ precision: 8, scale: 2, default: "9.50" }),
  addedAt: field.datetime({ default: () => new Date("2024-01-02T03:04:05Z") }),
  published: field.bool({ default: true }),
  get tags() {
    return field.manyToMany(() => Tag);
  },
}) {}

class Tag extends Model("graphql_tags", { id: field.auto(), name: field.char({ maxLength: 20 }) }) {}

class Wide extends Model("graphql_wide", {
  id: field.auto(),
  a: field.int(),
  b: field.int(),
  c: field.int(),
  d: field.int(),
  e: field.int(),
  f: field.int(),
  g: field.int(),
  h: field.int(),
}) {}

const models = [Author, Tag, Book, Wide];
const server = service("postgres");

describe.skipIf(!server)("types of models", () => {
  let app: App;
  let subgraph: App;
  const sent: string[] = [];
  /** The statements that a function sends, without quotes and in lower case. */
  const statementsOf = async (run: () => Promise<unknown>): Promise<string[]> => {
    const before = sent.length;
    await run();
    return sent.slice(before);
  };
  let drop: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    const made = await makeDatabase(server!);
    drop = made.drop;
    const db = await openDatabase(made.url);
    bindDatabase(db);
    await createTables(db, models);
    const authors = await Author.objects.bulkCreate(["Ann", "Bob", "Cy"].map((name) => ({ name })));
    const books = await Book.objects.bulkCreate(
      Array.from({ length: 30 }, (_, i) => ({
        title: `Book ${String(i).padStart(2, "0")}`,
        authorId: authors[i % 3]!.id,
        year: i % 4 === 0 ? null : 2000 + i,
        genre: i % 2 ? ("science" as const) : ("fiction" as const),
        published: i !== 5,
      })),
    );
    const tag = await Tag.objects.create({ name: "classic" });
    await books[0]!.related("tags").add(tag);
    await books[1]!.related("tags").add(tag);
    await db.close();
    bindDatabase(null);
    app = quietApp();
    const start = (_name: string, attributes: Attributes = {}): typeof noSpan => {
      const text = attributes["db.query.text"];
      if (typeof text === "string") sent.push(text.replaceAll('"', "").toLowerCase());
      return noSpan;
    };
    hostOf(app).tracer = { start };
    app.enableDatabase(made.url).enableGraphql({ limits: { complexity: 100_000 } });
    app.graphql.model(Author);
    app.graphql.model(Tag, { query: false });
    app.graphql.model(Wide);
    app.graphql
      .model(Book, { visible: ({ context }) => (context.user === "admin" ? {} : { published: true }) })
      .field("label", "String!", ({ title, year }) => `${title} (${year ?? "n.d."})`);
    app.use({ before: (request) => void (request.context.user = request.headers.get("x-user") ?? undefined) });
    await app.start();
    subgraph = quietApp();
    hostOf(subgraph).tracer = { start };
    subgraph.enableDatabase(made.url).enableGraphql({ federation: true });
    subgraph.graphql.model(Author, { guards: [({ headers }) => headers.get("x-user") !== "nobody"] });
    subgraph.graphql.model(Tag, { fields: ["name"], filters: [], orders: [] });
    subgraph.graphql.model(Book, { visible: () => ({ published: true }) });
    await subgraph.start();
  });
  afterAll(async () => {
    await subgraph?.stop();
    await app?.stop();
    await drop?.();
  });

  it("The type of a model shows the columns of a row by its key, and fields of its own", async () => {
    const query = '{ book(id: "2") { id title year genre price addedAt label author { name } authorId } }';
    expect(await dataOf(app, query)).toEqual({
      book: {
        id: "2",
        title: "Book 01",
        year: 2001,
        genre: "science",
        price: "9.50",
        addedAt: "2024-01-02T03:04:05.000Z",
        label: "Book 01 (2001)",
        author: { name: "Bob" },
        authorId: "2",
      },
    });
    expect(await dataOf(app, '{ book(id: "999") { id } }')).toEqual({ book: null });
  });

  it("In a federation rows are entities by their primary key, read together and only if they are visible", async () => {
    const query = `query ($r: [_Any!]!) {
      _entities(representations: $r) { ... on Book { title author { name } } ... on Author { name } }
    }`;
    const r = [
      ...["1", "6", "2", "999"].map((id) => ({ __typename: "Book", id })),
      ...["3", "1"].map((id) => ({ __typename: "Author", id })),
    ];
    const statements = await statementsOf(async () =>
      expect(await dataOf(subgraph, query, { r })).toEqual({
        _entities: [
          { title: "Book 00", author: { name: "Ann" } },
          null,
          { title: "Book 01", author: { name: "Bob" } },
          null,
          { name: "Cy" },
          { name: "Ann" },
        ],
      }),
    );
    expect(statements.map((text) => /from (\w+)/.exec(text)?.[1]).sort()).toEqual([
      "graphql_authors",
      "graphql_authors",
      "graphql_books",
    ]);
    const { body } = await post(subgraph, { query, variables: { r: r.slice(3) } }, { "x-user": "nobody" });
    expect(body.data).toEqual({ _entities: [null, null, null] });
    expect(body.errors).toMatchObject([4, 5].map(() => ({ extensions: { status: 403 } })));
    const [wrong] = await errorsOf(subgraph, query, { r: [{ __typename: "Book", id: "x" }] });
    expect(wrong).toMatchObject({ message: "id must be a whole number.", path: ["_entities", 0] });
    const { _service } = (await dataOf(subgraph, "{ _service { sdl } }")) as { _service: { sdl: string } };
    expect(_service.sdl).toContain('type Book @key(fields: "id") {');
    expect(_service.sdl).toContain("type PageInfo @shareable {");
    expect(_service.sdl).toContain("type Tag {");
  });

  it("Hidden columns are left out of the type of a model, its filters and its orders", async () => {
    for (const query of [
      "{ author(id: 1) { secret } }",
      '{ authors(filter: { secret: { eq: "x" } }) { nodes { id } } }',
      "{ authors(orderBy: [SECRET]) { nodes { id } } }",
    ]) {
      expect((await errorsOf(app, query)).length, query).toBeGreaterThan(0);
    }
  });

  it("Rows of a model are read page by page, forward and backward, by a cursor", async () => {
    const query = `query ($after: String, $before: String) {
      books(first: 10, after: $after, before: $before, orderBy: [TITLE_DESC]) {
        nodes { title } edges { cursor } totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }`;
    type Page = { books: { nodes: { title: string }[]; totalCount: number; pageInfo: Record<string, string> } };
    const titles: string[] = [];
    let after: string | null = null;
    let last: Page;
    do {
      last = (await dataOf(app, query, { after })) as Page;
      titles.push(...last.books.nodes.map(({ title }) => title));
      after = last.books.pageInfo["endCursor"]!;
    } while (last.books.pageInfo["hasNextPage"]);
    expect(titles).toEqual(
      Array.from({ length: 30 }, (_, i) => `Book ${String(29 - i).padStart(2, "0")}`).filter(
        (title) => title !== "Book 05",
      ),
    );
    expect(last.books.totalCount).toBe(29);
    const back = (await dataOf(app, query, { before: last.books.pageInfo["startCursor"] })) as Page;
    expect(back.books.nodes.map(({ title }) => title)).toEqual(titles.slice(10, 20));
  });

  it("Rows of a model are filtered by comparisons, which can be combined", async () => {
    const idsOf = async (filter: object): Promise<string[]> => {
      const query = "query ($filter: BookFilter) { books(filter: $filter, first: 100) { nodes { id } } }";
      const { books } = (await dataOf(app, query, { filter })) as { books: { nodes: { id: string }[] } };
      return books.nodes.map(({ id }) => id);
    };
    expect(await idsOf({ title: { icontains: "book 0" }, genre: { eq: "science" } })).toEqual(["2", "4", "8", "10"]);
    expect(await idsOf({ year: { gte: 2027 } })).toEqual(["28", "30"]);
    expect(await idsOf({ year: { isNull: true }, id: { in: ["1", "5"] } })).toEqual(["1", "5"]);
    expect(
      await idsOf({ or: [{ id: { eq: "3" } }, { and: [{ id: { eq: "4" } }, { not: { year: { eq: 2003 } } }] }] }),
    ).toEqual(["3"]);
    expect(await idsOf({ authorId: { eq: "1" }, year: { ne: 2003, lt: null } })).not.toContain("4");
    expect(await idsOf({ title: { contains: "%" } })).toEqual([]);
  });

  it("Values that do not fit a model are refused as a mistake of the client", async () => {
    const refused = async (query: string, variables?: Record<string, unknown>): Promise<void> => {
      const [error] = await errorsOf(app, query, variables);
      expect(error?.extensions?.["code"] ?? error?.message, query).toMatch(
        /BAD_USER_INPUT|got invalid value|cannot represent/,
      );
    };
    await refused('{ book(id: "x") { id } }');
    await refused('{ author(id: "99999999999") { id } }');
    await refused('{ books(after: "nonsense") { nodes { id } } }');
    await refused("{ books(first: 101) { nodes { id } } }");
    await refused("{ books(first: 0) { nodes { id } } }");
    await refused('{ books(first: 5, after: "W10", before: "W10") { nodes { id } } }');
    await refused("query ($f: BookFilter) { books(filter: $f) { nodes { id } } }", {
      f: { id: { in: Array.from({ length: 2000 }, String) } },
    });
    await refused("query ($f: BookFilter) { books(filter: $f) { nodes { id } } }", {
      f: { or: Array.from({ length: 200 }, (_, i) => ({ id: { eq: `${i}` } })) },
    });
    await refused("query ($f: BookFilter) { books(filter: $f) { nodes { id } } }", {
      f: { title: { eq: "a\u0000b" } },
    });
    const filtered = "query ($f: BookFilter) { books(filter: $f) { nodes { id } } }";
    await refused(filtered, { f: { and: Array.from({ length: 5000 }, () => ({})) } });
    const ids = Array.from({ length: 600 }, String);
    await refused(filtered, { f: { id: { in: ids }, authorId: { in: ids } } });
    const ordered = "query ($o: [BookOrder!]) { books(orderBy: $o) { nodes { id } } }";
    await refused(ordered, { o: Array.from({ length: 350 }, () => "TITLE") });
    await refused(ordered, { o: ["TITLE", "TITLE_DESC"] });
    await refused("{ authors { nodes { books(orderBy: [TITLE, TITLE]) { id } } } }");
    await refused("{ authors { nodes { books(first: 101) { id } } } }");
  });

  it("Only visible rows are shown: alone, in pages, in totals and in relations that lead to them", async () => {
    const query =
      '{ book(id: "6") { id } books(first: 100) { totalCount nodes { id } } author(id: "3") { books { id } } }';
    type Result = {
      book: unknown;
      books: { totalCount: number; nodes: { id: string }[] };
      author: { books: { id: string }[] };
    };
    const mine = (await dataOf(app, query)) as Result;
    expect([mine.book, mine.books.totalCount]).toEqual([null, 29]);
    expect(mine.author.books.map(({ id }) => id)).not.toContain("6");
    const all = (await post(app, { query }, { "x-user": "admin" })).body.data as unknown as Result;
    expect([all.book, all.books.totalCount, all.author.books.some(({ id }) => id === "6")]).toEqual([
      { id: "6" },
      30,
      true,
    ]);
  });

  it("Relations are loaded for all rows at once, at every level", async () => {
    const query = (first: number): string =>
      `{ authors(first: ${first}) { nodes { name books { title tags { name } author { name books { id } } } } } }`;
    const one = await statementsOf(() => dataOf(app, query(1)));
    // Authors, their books, the keys and the rows of tags, the authors of books, and the books of those.
    expect(one, one.join("\n")).toHaveLength(6);
    expect(await statementsOf(() => dataOf(app, query(3)))).toHaveLength(6);
  });

  it("To-many relations take a filter, an order and a number of rows, each in one statement for all rows", async () => {
    const query = `query ($f: BookFilter, $first: Int!) { authors { nodes {
      name
      newest: books(orderBy: [TITLE_DESC], first: $first) { title tags(filter: { name: { eq: "classic" } }) { name } }
      science: books(filter: $f) { title }
    } } }`;
    type Named = { title: string }[];
    const variables = { first: 2, f: { genre: { eq: "science" }, title: { startsWith: "Book 0" } } };
    let found: unknown;
    const statements = await statementsOf(async () => void (found = await dataOf(app, query, variables)));
    const { authors } = found as { authors: { nodes: { name: string; newest: Named; science: Named }[] } };
    expect(authors.nodes.map(({ newest }) => newest.map(({ title }) => title))).toEqual([
      ["Book 27", "Book 24"],
      ["Book 28", "Book 25"],
      ["Book 29", "Book 26"],
    ]);
    // Book 05 is not visible.
    expect(authors.nodes.map(({ science }) => science.map(({ title }) => title))).toEqual([
      ["Book 03", "Book 09"],
      ["Book 01", "Book 07"],
      [],
    ]);
    const [ofAuthors, ...others] = statements;
    expect(ofAuthors).toMatch(/from graphql_authors\b.*limit/s);
    const ofBooks = others.filter((text) => /from graphql_books\b/.test(text));
    const ofTags = others.filter((text) => /graphql_tags\b/.test(text) && !ofBooks.includes(text));
    expect([statements.length, ofBooks.length, ofTags.length], statements.join("\n")).toEqual([4, 2, 1]);
    // The condition of `visible`, the filter, the order and the number of rows of each author are in one statement.
    const each = "lateral \\(select .* from graphql_books t0 where t0\\.published = \\$\\d+ and";
    const newest = new RegExp(`${each} t0\\.author_id = k\\.k0 order by t0\\.title desc, t0\\.id( desc)? limit 2\\)`);
    const science = new RegExp(
      `${each} \\(t0\\.title like \\$\\d+ and t0\\.genre = \\$\\d+\\) and t0\\.author_id = k\\.k0 order by t0\\.id limit 20\\)`,
    );
    for (const form of [newest, science]) {
      expect(
        ofBooks.filter((text) => form.test(text)),
        ofBooks.join("\n"),
      ).toHaveLength(1);
    }
    expect(ofTags[0]).toMatch(/\bname = /);
  });

  it("The condition of visible rows is in every statement that reads the model", async () => {
    const query = `{ book(id: "6") { id } books(filter: { year: { gt: 1 } }) { totalCount nodes { id } }
      authors { nodes { books { id } } } }`;
    const ofBooks = (await statementsOf(() => dataOf(app, query))).filter((text) => /from graphql_books\b/.test(text));
    // By key, a page, its total, and the books of authors.
    expect(ofBooks).toHaveLength(4);
    for (const text of ofBooks) expect(text).toMatch(/where .*\bpublished\b/s);
  });

  it("An order names up to 8 columns", async () => {
    const columns = ["A", "B", "C", "D", "E", "F", "G", "H", "ID"];
    const query = "query ($o: [WideOrder!]) { wides(orderBy: $o) { nodes { id } } }";
    expect(await dataOf(app, query, { o: columns.slice(0, 8) })).toEqual({ wides: { nodes: [] } });
    const [error] = await errorsOf(app, query, { o: columns });
    expect(error).toMatchObject({
      message: "'orderBy' names at most 8 columns.",
      extensions: { code: "BAD_USER_INPUT" },
    });
  });

  it("Rows of a relation that are not visible are left out before the rows are counted", async () => {
    const { author } = (await dataOf(app, '{ author(id: "3") { books(first: 3) { title } } }')) as {
      author: { books: { title: string }[] };
    };
    expect(author.books.map(({ title }) => title)).toEqual(["Book 02", "Book 08", "Book 11"]);
  });
});
