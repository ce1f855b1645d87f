import { beforeAll, expect, it } from "vitest";
import { ParameterRangeError, ParameterTypeError } from "../../src/engines/db/errors.js";
import { count, Expression, F, FieldError, fn, max, Q, raw, rowNumber } from "../../src/entry/orm.js";
import { compileSelect } from "../../src/orm/compile/statement-cache.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Profile, seed } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

/** What a client might send in place of a name. */
const hostile: readonly string[] = [
  "_connector",
  "_negated",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "",
  "__",
  "title__",
  "__title",
  "title____exact",
  "title__constructor",
  "title__toString",
  "author__",
  "author__constructor__name",
  'title"; drop table books; --',
  "title'",
  'title"',
  "title) or 1=1 --",
  "title\0",
  "title\n",
  "title\u0007",
  "title\u202e",
  "title\u2028",
  "\uFEFFtitle",
  "title/**/",
  "1",
  "*",
  "books.title",
  "id; select pg_sleep(10)",
  "x".repeat(10_000),
  "author__".repeat(200),
];

describeDatabases("names from input", service("postgres"), bookshop, () => {
  beforeAll(seed);

  it.each(hostile.map((name) => [JSON.stringify(name).slice(0, 40), name]))(
    "The hostile name %s is refused in every place for a name",
    async (_, name) => {
      const anything = name as never;
      const { objects } = Book;
      const refused: (() => unknown)[] = [
        () => objects.filter({ [name]: "x" } as never).toSql(),
        () => objects.exclude({ [name]: "x" } as never).toSql(),
        () => objects.filter(Q({ [name]: 1 }) as never).toSql(),
        () => objects.orderBy(anything).toSql(),
        () => objects.orderBy(`-${name}` as never).toSql(),
        () => objects.values(anything).toSql(),
        () => objects.valuesList(anything).toSql(),
        () => objects.flat(anything).toSql(),
        () => objects.only(anything).toSql(),
        () => objects.defer(anything).toSql(),
        () => objects.distinct(anything).toSql(),
        () => objects.selectRelated(anything).toSql(),
        () => objects.prefetchRelated(anything),
        () => objects.annotate({ n: F(name) } as never).toSql(),
        () => objects.annotate({ n: max(name) } as never).toSql(),
        () => objects.orderBy(F(name).desc() as never).toSql(),
        () => new Book({ [name]: 1 } as never),
      ];
      for (const use of refused) expect(use).toThrow(FieldError);
      await expect(objects.update({ [name]: 1 } as never)).rejects.toThrow(FieldError);
      await expect(objects.create({ title: "x", author: 1, [name]: 1 } as never)).rejects.toThrow(FieldError);
      await expect((async () => objects.aggregate({ n: max(name) } as never))()).rejects.toThrow(FieldError);
      await expect(objects.bulkUpdate([new Book({ id: 1 } as never)], [anything])).rejects.toThrow(FieldError);
      await expect(
        objects.bulkCreate([{ title: "x", author: 1 }], { onConflict: "update", conflictFields: [name as never] }),
      ).rejects.toThrow(FieldError);
      await expect(objects.inBulk([1], anything)).rejects.toThrow(FieldError);
      expect(await objects.count()).toBe(6);
    },
  );

  it.each([
    'n"; drop table books',
    "n\0",
    "n\n",
    "a b",
    "title",
    "author",
    "_n",
    "n__x",
    "__proto__",
    "constructor",
    "then",
    "",
    "n'",
    "n\u202e",
  ])("The alias %j is refused", async (alias) => {
    expect(() => Book.objects.annotate({ [alias]: F("year") } as never)).toThrow(FieldError);
    const aggregates = JSON.parse(`{${JSON.stringify(alias)}: 1}`) as Record<string, unknown>;
    for (const key of Object.keys(aggregates)) {
      Object.defineProperty(aggregates, key, { value: count(), enumerable: true });
    }
    if (alias === "title" || alias === "author") return;
    await expect(Book.objects.aggregate(aggregates as never)).rejects.toThrow(FieldError);
  });

  it("Keys of JSON are sent as values, whatever they contain", async () => {
    await Profile.objects.filter({ author: 1 }).update({ settings: { "a'b": 1, 'x"y': 2, "k;--": 3 } as never });
    expect(await Profile.objects.filter({ "settings__a'b": 1 } as never).count()).toBe(1);
    expect(await Profile.objects.filter({ 'settings__x"y': 2 } as never).count()).toBe(1);
    expect(await Profile.objects.filter({ "settings__k;--": 3 } as never).count()).toBe(1);
    expect(await Profile.objects.filter({ "settings__') or true --": 1 } as never).count()).toBe(0);
    expect(() => Profile.objects.filter({ "settings__a\0b": 1 } as never).toSql()).toThrow(FieldError);
    expect(() => Profile.objects.filter({ "settings__a\nb": 1 } as never).toSql()).toThrow(FieldError);
    expect(Profile.objects.filter({ "settings__') or true --": 1 } as never).toSql().text).not.toContain("or true");
  });

  it("Limits that are not integers are refused", () => {
    for (const value of ["10", 1.5, Number.NaN, Infinity, null, undefined, {}, [], "1; drop table books"]) {
      expect(() => Book.objects.limit(value as number)).toThrow(ParameterTypeError);
      expect(() => Book.objects.offset(value as number)).toThrow(ParameterTypeError);
    }
    for (const value of [-1, 2 ** 60]) expect(() => Book.objects.limit(value)).toThrow(ParameterRangeError);
  });

  it("The error for an unknown field shows at most 60 characters of its name", () => {
    const refusal = (length: number) => () => Book.objects.orderBy("x".repeat(length) as never).toSql();
    expect(refusal(60)).toThrow(`no field "${"x".repeat(60)}"`);
    expect(refusal(61)).toThrow(`no field "${"x".repeat(57)}..."`);
  });

  it("Parts of SQL that are not names are refused", () => {
    expect(() => fn("lower(title)); drop table books; --")).toThrow(FieldError);
    expect(() => rowNumber().over({ frame: "rows 1 preceding) from books; --" })).toThrow(FieldError);
    expect(() => raw("1; drop table books" as never)).toThrow(/fragment/);
    expect(() => Book.objects.forUpdate({ strength: "update; drop table books" as never })).toThrow(/strength/);
  });

  it("Only real conditions and expressions are accepted as such", () => {
    for (const condition of [
      null,
      undefined,
      "1=1",
      1,
      [],
      [{ id: 1 }],
      new Date(),
      new Map([["id", 1]]),
      Object.create({ id: 1 }),
    ]) {
      if (
        condition !== undefined &&
        condition !== null &&
        typeof condition === "object" &&
        Object.keys(condition).length === 0
      ) {
        if (Object.getPrototypeOf(condition) === Object.prototype) continue;
      }
      expect(() => Book.objects.filter(condition as never).toSql()).toThrow(FieldError);
    }
    // An object that looks like a query or an expression is a value, and not the kind that a column takes.
    expect(() => Book.objects.filter({ title: { node: { type: "fragment" } } as never }).toSql()).toThrow(
      ParameterTypeError,
    );
    expect(() => Book.objects.filter({ id: { query: {} } as never }).toSql()).toThrow(ParameterTypeError);
    expect(() => Book.objects.annotate({ n: { node: {} } } as never)).toThrow(FieldError);
    expect(new Expression({ type: "value", value: 1 })).toBeInstanceOf(Expression);
  });

  it("Every value is sent separately from the statement", () => {
    const evil = "'); drop table books; --";
    const { text, params } = Book.objects
      .filter({ title: evil, title__icontains: evil, author__name__in: [evil], title__regex: evil })
      .toSql();
    expect(text).not.toContain("drop");
    expect(params.join()).toContain("drop");
    expect(Author.objects.filter({ name: evil }).offset(1).toSql().params).toEqual([evil, 1]);
  });

  it("A limit in the text of a statement is always an integer", () => {
    const limited = Author.objects.filter({ name: "x" }).limit(3).toSql();
    expect(limited.text).toMatch(/ LIMIT 3$/);
    expect(limited.params).toEqual(["x"]);
    for (const evil of [
      "3",
      "3; drop table books",
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      -1,
      3n,
      [3],
      { toString: () => "3" },
    ])
      expect(() => Author.objects.limit(evil as never)).toThrow(/^limit must be/);
    // Whoever goes around the queryset is stopped by the compiler.
    const { query } = Author.objects.limit(3);
    expect(() => compileSelect({ ...query, limit: "3; drop table books" as never })).toThrow("not a number of rows");
  });
});
