import { beforeAll, describe, expect, it } from "vitest";
import type { Editor } from "./language-service.js";

/** What an editor knows of models; `bookshop.ts` stands beside the code. */
export function modelTests(makeEditor: (imports: string) => Editor): void {
  let editor: Editor;
  beforeAll(() => {
    editor = makeEditor(`
import { count, F, max, prefetch, Q, sum, when } from "stoa/orm";
import { Author, Book, Tag } from "./bookshop.js";`);
  });

  describe("an editor suggests", () => {
    const cases: readonly (readonly [what: string, code: string, names: readonly string[]])[] = [
      [
        "fields and lookups in a filter",
        "Book.objects.filter({ | })",
        ["title", "title__icontains", "year__gte", "tags"],
      ],
      [
        "fields of related rows in a filter",
        "Book.objects.filter({ | })",
        ["author__name", "author__name__startswith"],
      ],
      ["keys next to keys that are written", "Book.objects.filter({ year: 1, ti| })", ["title", "title__length"]],
      [
        "keys through several relations",
        "Book.objects.filter({ author__mentor__country__co| })",
        ["author__mentor__country__code", "author__mentor__country__code__in"],
      ],
      ["fields and lookups in exclude", "Book.objects.exclude({ | })", ["title", "stock__lt"]],
      ["fields and lookups in get", "Book.objects.get({ | })", ["id", "title"]],
      ["fields in getOrCreate", "Book.objects.getOrCreate({ | })", ["title", "author"]],
      ["fields and lookups in Q", "Book.objects.filter(Q({ | }))", ["title", "title__icontains", "author__name"]],
      ["keys in Q next to keys that are written", 'Book.objects.exclude(Q({ title: "x", ye| }))', ["year__gte"]],
      ["fields and lookups in Q.not", "Book.objects.filter(Q.not({ | }))", ["title__icontains", "author__name"]],
      ["fields and lookups in Q.or", "Book.objects.filter(Q.or({ | }, { year: 1 }))", ["title__icontains"]],
      ["fields and lookups in Q.and", "Book.objects.get(Q.and({ year: 1 }, { | }))", ["title__icontains"]],
      ["fields and lookups in when", 'Book.objects.annotate({ x: when({ | }, "a") })', ["stock__lt", "author__name"]],
      ["annotations in Q", 'Book.objects.annotate({ n: count("tags") }).filter(Q({ | }))', ["n", "n__gte"]],
      ["fields in only", 'Book.objects.only("|")', ["title", "author", "authorId"]],
      [
        "fields of loaded relations in only",
        'Book.objects.selectRelated("author").only("title", "author__|")',
        ["author__name", "author__email"],
      ],
      ["fields of to-many relations in values", 'Book.objects.values("tags__|")', ["tags__name"]],
      ["relations of a model to itself", 'Author.objects.recursive("|")', ["mentor"]],
      ["annotations", 'Book.objects.annotate({ n: count("tags") }).filter({ n| })', ["n", "n__gte"]],
      ["the values of an enum", 'Book.objects.filter({ status: "|" })', ["draft", "published", "sold_out"]],
      ["the values of an enum in a list", 'Book.objects.filter({ status__in: ["|"] })', ["draft", "sold_out"]],
      ["the values of an enum of related rows", 'Book.objects.filter({ author__books__status: "|" })', ["draft"]],
      ["the values of an enum in an update", 'Book.objects.update({ status: "|" })', ["draft", "published"]],
      ["relations to one", 'Book.objects.selectRelated("|")', ["author", "author__country"]],
      ["relations to one, further on", 'Book.objects.selectRelated("author__mentor__|")', ["author__mentor__country"]],
      ["relations", 'Book.objects.prefetchRelated("|")', ["author", "tags"]],
      ["relations, further on", 'Book.objects.prefetchRelated("tags", "author__bo|")', ["author__books"]],
      ["relations in prefetch", 'Book.objects.prefetchRelated(prefetch("|", Tag.objects.all()))', ["tags"]],
      ["orders", 'Book.objects.orderBy("|")', ["year", "-year", "author__name"]],
      ["orders through relations", 'Book.objects.orderBy("year", "-author__|")', ["-author__name"]],
      ["fields in values", 'Book.objects.values("id", "author__|")', ["author__name", "author__country__code"]],
      ["fields in an aggregate", 'Author.objects.annotate({ n: count("|") })', ["books", "books__tags", "name"]],
      ["fields in aggregate()", 'Book.objects.aggregate({ n: sum("|") })', ["price", "stock"]],
      ["fields in F", 'Book.objects.annotate({ n: F("|") })', ["price", "author__name"]],
      ["fields in F of a filter", 'Book.objects.filter({ stock__lt: F("|") })', ["year", "stock"]],
      ["fields in F of an update", 'Book.objects.update({ stock: F("|") })', ["year", "stock"]],
      ["filters of clients", 'Book.objects.filterFrom({}, ["|"])', ["year__gte", "author__name__icontains"]],
      ["orders of clients", 'Book.objects.orderFrom("", ["|"])', ["year", "author__name"]],
      [
        "the fields of a conflict",
        'Book.objects.bulkCreate([], { onConflict: "update", conflictFields: ["|"] })',
        ["author", "title"],
      ],
    ];
    let found: string[][];
    beforeAll(() => void (found = editor.eachCompletions(cases.map(([, code]) => `${code};`).join("\n"))));

    it.each(cases.map(([what, , names], index) => ({ what, names, index })))(
      "An editor suggests $what",
      ({ names, index }) => {
        expect(found[index]).toEqual(expect.arrayContaining([...names]));
      },
    );

    it("An editor suggests no relation to many where one row is needed", () => {
      const [related, order] = editor.eachCompletions('Book.objects.selectRelated("|"); Book.objects.orderBy("|");');
      expect(related).toContain("author");
      expect(related).not.toContain("tags");
      expect(order).toContain("year");
      expect(order).not.toContain("tags");
    });
  });

  describe("an editor shows", () => {
    const cases: readonly (readonly [what: string, code: string, shown: string])[] = [
      ["a row", "const row| = await Book.objects.get({ id: 1 })", "const row: Book"],
      [
        "a row with loaded relations",
        'const row| = await Book.objects.selectRelated("author__country").get({ id: 1 })',
        'const row: WithRelated<Book, Book, "author__country">',
      ],
      [
        "a row with annotations",
        'const row| = await Book.objects.annotate({ n: count("tags") }).get({ id: 1 })',
        "const row: Merged<Book, { n: number; }>",
      ],
      [
        "the rows of values",
        'const rows| = await Book.objects.values("id", "author__name")',
        "const rows: { id: number; author__name: string; }[]",
      ],
      [
        "aggregates",
        'const all| = await Book.objects.aggregate({ n: count(), last: max("year") })',
        "const all: { n: number; last: number | null; }",
      ],
    ];
    let found: string[];
    beforeAll(() => void (found = editor.eachHover(cases.map(([, code]) => `async () => { ${code} };`).join("\n"))));

    it.each(cases.map(([what, , shown], index) => ({ what, shown, index })))(
      "An editor shows the type of $what",
      ({ shown, index }) => {
        expect(found[index]!.replace(/\s+/g, " ")).toBe(shown);
      },
    );
  });

  describe("an error names", () => {
    const cases: readonly (readonly [what: string, code: string, name: string])[] = [
      ["the field of a filter", 'Book.objects.filter({ titel: "x" })', '"titel"'],
      ["the lookup of a filter", "Book.objects.filter({ year__gre: 1 })", '"gre"'],
      ["the field of an order", 'Book.objects.orderBy("yaer")', '"yaer"'],
      ["the relation", 'Book.objects.selectRelated("autor")', '"autor"'],
      ["the field of an aggregate", 'Author.objects.annotate({ n: count("boks") })', '"boks"'],
      ["the field of F", 'Book.objects.update({ stock: F("stok") })', '"stok"'],
    ];
    let found: string[];
    beforeAll(() => void (found = editor.errors(cases.map(([, code]) => `${code};`).join("\n"))));

    it.each(cases.map(([what, , name], index) => ({ what, name, index })))(
      "An error names $what",
      ({ name, index }) => {
        expect(found).toHaveLength(cases.length);
        expect(found[index]).toContain(name);
      },
    );
  });
}
