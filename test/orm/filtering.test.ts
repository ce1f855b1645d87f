import { beforeAll, expect, it } from "vitest";
import { ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../src/engines/db/errors.js";
import { F, FieldError, Q } from "../../src/entry/orm.js";
import { HttpError } from "../../src/errors/http-error.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Country, Profile, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

const titles = async (queryset: { values(name: "title"): PromiseLike<{ title: string }[]> }): Promise<string[]> =>
  (await queryset.values("title")).map((row) => row.title).sort();

describeDatabases("filtering", service("postgres"), bookshop, (db) => {
  beforeAll(seed);

  it("filter() compares values", async () => {
    expect(await titles(Book.objects.filter({ year: 2008 }))).toEqual(["Lavinia", "Matter"]);
    expect(await titles(Book.objects.filter({ year__gt: 1974, year__lte: 1987 }))).toEqual(["Consider Phlebas"]);
    expect(await titles(Book.objects.filter({ year__lt: 1974 }))).toEqual(["A Wizard of Earthsea"]);
    expect(await titles(Book.objects.filter({ year__range: [1968, 1974] }))).toEqual([
      "A Wizard of Earthsea",
      "The Dispossessed",
    ]);
    expect(await titles(Book.objects.filter({ year: null }))).toEqual(["Kindred"]);
    expect(await titles(Book.objects.filter({ year__isnull: false, stock: 0 }))).toEqual(["The Dispossessed"]);
    expect(await titles(Book.objects.filter({ price__gte: "11" }))).toEqual(["Matter", "The Dispossessed"]);
    expect(await Book.objects.filter({ year__ne: 2008 }).count()).toBe(4);
  });

  it("filter() matches text and treats wildcards as plain characters", async () => {
    expect(await titles(Book.objects.filter({ title__contains: "of" }))).toEqual(["A Wizard of Earthsea"]);
    expect(await titles(Book.objects.filter({ title__icontains: "MATTER" }))).toEqual(["Matter"]);
    expect(await titles(Book.objects.filter({ title__startswith: "The" }))).toEqual(["The Dispossessed"]);
    expect(await titles(Book.objects.filter({ title__istartswith: "the" }))).toEqual(["The Dispossessed"]);
    expect(await titles(Book.objects.filter({ title__endswith: "sea" }))).toEqual(["A Wizard of Earthsea"]);
    expect(await titles(Book.objects.filter({ title__iendswith: "SEA" }))).toEqual(["A Wizard of Earthsea"]);
    expect(await titles(Book.objects.filter({ title__iexact: "matter" }))).toEqual(["Matter"]);
    expect(await titles(Book.objects.filter({ title__regex: "^[KL]" }))).toEqual(["Kindred", "Lavinia"]);
    expect(await titles(Book.objects.filter({ title__iregex: "^[kl]" }))).toEqual(["Kindred", "Lavinia"]);
    expect(await titles(Book.objects.filter({ title__length__gt: 16 }))).toEqual(["A Wizard of Earthsea"]);
    for (const wildcard of ["%", "_", "M%", "Matte_", "\\"]) {
      expect(await titles(Book.objects.filter({ title__contains: wildcard }))).toEqual([]);
      expect(await titles(Book.objects.filter({ title__iexact: wildcard }))).toEqual([]);
    }
    expect(await Author.objects.filter({ books__title__contains: F("name") }).count()).toBe(0);
  });

  it("filter() searches full text", async () => {
    expect(await titles(Book.objects.filter({ title__search: "wizards" }))).toEqual(["A Wizard of Earthsea"]);
    expect(await titles(Book.objects.filter({ title__search: "matter or kindred" }))).toEqual(["Kindred", "Matter"]);
  });

  it("filter() accepts lists, also empty and very long ones", async () => {
    expect(await titles(Book.objects.filter({ id__in: [1, 2] }))).toEqual(["A Wizard of Earthsea", "The Dispossessed"]);
    expect(await titles(Book.objects.filter({ id__in: [] }))).toEqual([]);
    expect(await Book.objects.exclude({ id__in: [] }).count()).toBe(6);
    expect(await titles(Book.objects.filter({ year__in: [2008, null] }))).toEqual(["Kindred", "Lavinia", "Matter"]);
    const many = Array.from({ length: 70_000 }, (_, index) => index + 5);
    expect(await titles(Book.objects.filter({ id__in: many }))).toEqual(["Kindred", "Matter"]);
    expect(await titles(Book.objects.filter({ title__in: ['a"b', "Matter", "x\\y", "null"] }))).toEqual(["Matter"]);
    expect(
      await titles(Book.objects.filter({ author__in: Author.objects.filter({ name__startswith: "Iain" }) })),
    ).toEqual(["Consider Phlebas", "Matter"]);
    expect(await titles(Book.objects.filter({ title__in: Book.objects.filter({ stock: 7 }).values("title") }))).toEqual(
      ["Consider Phlebas"],
    );
  });

  it("filter() compares parts of dates, in UTC", async () => {
    await Book.objects.filter({ title: "Matter" }).update({ published: new Date("2008-12-31T23:30:00Z") });
    const found = (lookups: object): Promise<string[]> => titles(Book.objects.filter(lookups as never));
    for (const lookups of [
      { published__year: 2008 },
      { published__month: 12 },
      { published__day__gte: 31 },
      { published__week_day: 3 },
      { published__weekDay: 3 },
      { published__isoWeekDay: 3 },
      { published__quarter: 4 },
      { published__hour: 23 },
      { published__minute__lt: 31, published__hour__gt: 1 },
      { published__date: "2008-12-31" },
      { published__date__lt: "2009-01-01" },
      { published__time__gte: "23:30:00" },
      { published: new Date("2008-12-31T23:30:00Z") },
      { published__range: ["2008-12-31T00:00:00Z", new Date("2009-01-01")] },
    ]) {
      expect(await found(lookups)).toEqual(["Matter"]);
    }
  });

  it("filter() searches in lists and JSON", async () => {
    expect(await titles(Book.objects.filter({ keywords__contains: ["space"] }))).toEqual([
      "Consider Phlebas",
      "Matter",
    ]);
    expect(await titles(Book.objects.filter({ keywords__contained_by: ["space", "x"], keywords__len__gt: 0 }))).toEqual(
      ["Consider Phlebas"],
    );
    expect(await titles(Book.objects.filter({ keywords__overlap: ["war", "magic"] }))).toEqual([
      "A Wizard of Earthsea",
      "Matter",
    ]);
    expect(await titles(Book.objects.filter({ keywords__len: 2 }))).toEqual(["A Wizard of Earthsea", "Matter"]);
    expect(await titles(Book.objects.filter({ keywords__0: "magic" }))).toEqual(["A Wizard of Earthsea"]);
    expect(await titles(Book.objects.filter({ keywords: ["space"] }))).toEqual(["Consider Phlebas"]);
    const { objects } = Profile;
    expect(await objects.filter({ settings__theme: "dark", settings__deep__on: true }).count()).toBe(1);
    expect(await objects.filter({ settings__theme__in: ["dark", "light"] }).count()).toBe(1);
    expect(await objects.filter({ settings__theme: "light" }).count()).toBe(0);
    expect(await objects.filter({ settings__theme__icontains: "DAR" }).count()).toBe(1);
    expect(await objects.filter({ settings__sizes__0: 1, settings__sizes__1__gt: 1 }).count()).toBe(1);
    expect(await objects.filter({ settings__contains: { theme: "dark" } }).count()).toBe(1);
    expect(await objects.filter({ settings__hasKey: "theme", settings__has_keys: ["theme", "deep"] }).count()).toBe(1);
    expect(await objects.filter({ settings__has_any_keys: ["nope", "deep"] }).count()).toBe(1);
    expect(await objects.filter({ settings__theme__isnull: true }).count()).toBe(0);
    expect(await objects.filter({ settings: { theme: "dark", sizes: [1, 2], deep: { on: true } } }).count()).toBe(1);
  });

  it("filter() follows relations and returns no row twice", async () => {
    expect(await titles(Book.objects.filter({ author__country__code: "gb" }))).toEqual(["Consider Phlebas", "Matter"]);
    expect(await titles(Book.objects.filter({ author__mentor__name__startswith: "Ursula" }))).toEqual(["Kindred"]);
    expect(await titles(Book.objects.filter({ author__profile__bio: "Earthsea", year__gt: 2000 }))).toEqual([
      "Lavinia",
    ]);
    const names = async (lookups: object): Promise<string[]> =>
      (await Author.objects.filter(lookups as never).orderBy("id")).map((author) => author.name);
    expect(await names({ books__stock__gte: 0 })).toEqual(["Ursula K. Le Guin", "Iain Banks", "Octavia Butler"]);
    expect(await names({ books__tags__name: "sf" })).toEqual(["Ursula K. Le Guin", "Iain Banks"]);
    expect(await names({ books__tags__name: "classic", books__year: 2008 })).toEqual([]);
    expect(await names(Q.and({ books__year: 2008 }, { books__year__ne: 2008 }))).toEqual([]);
    const both = Author.objects.filter({ books__year: 2008 }).filter({ books__year__ne: 2008 });
    expect(await both.flat("name")).not.toEqual([]);
    expect(await names({ books__year: 2008, books__stock: 5 })).toEqual(["Ursula K. Le Guin"]);
    expect(await names({ books__isnull: true })).toEqual([]);
    expect(await names({ books: 1 })).toEqual(["Ursula K. Le Guin"]);
    expect(await names({ books__in: [4, 5] })).toEqual(["Iain Banks"]);
    expect(await names({ profile__isnull: false })).toEqual(["Ursula K. Le Guin"]);
    // The primary key of a profile is a foreign key too.
    expect(await names({ profile__in: Profile.objects.filter({ bio: "Earthsea" }) })).toEqual(["Ursula K. Le Guin"]);
    expect(await names({ profile: (await Profile.objects.first())! })).toEqual(["Ursula K. Le Guin"]);
    expect(await Profile.objects.filter({ pk__in: Profile.objects }).count()).toBe(1);
    expect(await Country.objects.filter({ authors__books__year: 1987 } as never).flat("code")).toEqual(["gb"]);
    expect(await Tag.objects.filter({ books__author__name: "Iain Banks" }).flat("name")).toEqual(["sf"]);
  });

  it("A lookup of a key that is in the row makes no join", () => {
    for (const lookups of [
      { author: 1 },
      { author__id: 1 },
      { author__pk: 1 },
      { authorId: 1 },
      { author__isnull: true },
      { author__id__in: [1] },
    ]) {
      expect(Book.objects.filter(lookups as never).toSql().text).not.toContain("JOIN");
    }
    expect(Book.objects.filter({ author__name: "x", author__email: "y" }).toSql().text.match(/JOIN/g)).toHaveLength(1);
  });

  it("exclude() removes exactly the rows that filter() finds", async () => {
    expect(await Book.objects.exclude({ year__gt: 2000 }).count()).toBe(4);
    expect(await titles(Book.objects.exclude({ tags__name: "sf" }).filter({ author__name__startswith: "U" }))).toEqual([
      "A Wizard of Earthsea",
      "Lavinia",
    ]);
    for (const condition of [
      { year: 2008 },
      { tags__name: "sf" },
      { author__mentor__name: "x" },
      { year__gte: 1980, tags: 2 },
    ]) {
      const kept = await Book.objects.filter(condition as never).count();
      expect(kept + (await Book.objects.exclude(condition as never).count())).toBe(6);
    }
  });

  it("Conditions are combined with and, or and not", async () => {
    expect(await titles(Book.objects.filter(Q({ year: 1968 }).or({ year: 1974 }, { title: "Kindred" })))).toEqual([
      "A Wizard of Earthsea",
      "Kindred",
      "The Dispossessed",
    ]);
    expect(await titles(Book.objects.filter(Q.and({ year: 2008 }, Q.not({ title: "Matter" }))))).toEqual(["Lavinia"]);
    expect(await titles(Book.objects.filter(Q({ year: 2008 }).and(Q({ stock: 1 }).not())))).toEqual(["Lavinia"]);
    expect(
      await titles(Book.objects.filter(Q({ tags__name: "fantasy" }).or({ author__name: "Octavia Butler" }))),
    ).toEqual(["A Wizard of Earthsea", "Kindred"]);
    expect(await titles(Book.objects.filter({ stock__gt: F("author__id").plus(4) }))).toEqual(["Consider Phlebas"]);
    expect(await Book.objects.filter(Q.or()).count()).toBe(0);
    expect(await Book.objects.filter(Q.and()).count()).toBe(6);
  });

  it("Instances are accepted in place of keys", async () => {
    const iain = await Author.objects.get({ name: "Iain Banks" });
    expect(await titles(Book.objects.filter({ author: iain }))).toEqual(["Consider Phlebas", "Matter"]);
    expect(await titles(Book.objects.filter({ author__in: [iain] }))).toEqual(["Consider Phlebas", "Matter"]);
    expect(() => Book.objects.filter({ author: new Author() }).toSql()).toThrow(FieldError);
    expect(() => Book.objects.filter({ author: new Tag() as unknown as Author }).toSql()).toThrow(
      /cannot be compared with an instance of Tag/,
    );
  });

  it("A wrong value is refused before anything is sent, with an error that names the field", () => {
    const sql = (lookups: object): unknown => Book.objects.filter(lookups as never).toSql();
    expect(() => sql({ year: "x" })).toThrow(new ParameterTypeError("Book.year: expected an integer, not a string"));
    expect(() => sql({ year: 1.5 })).toThrow(ParameterTypeError);
    expect(() => sql({ year: 2 ** 31 })).toThrow(ParameterRangeError);
    expect(() => sql({ year__gt: null })).toThrow(ParameterTypeError);
    expect(() => sql({ year__in: 5 })).toThrow(ParameterTypeError);
    expect(() => sql({ year__in: [undefined] })).toThrow(ParameterTypeError);
    expect(() => sql({ year__isnull: "yes" })).toThrow(ParameterTypeError);
    expect(() => sql({ year__range: [1] })).toThrow(ParameterTypeError);
    expect(() => sql({ title: "a\0b" })).toThrow(ParameterValueError);
    expect(() => sql({ title: "\ud800" })).toThrow(ParameterValueError);
    expect(() => sql({ title__contains: "a\0b" })).toThrow(ParameterValueError);
    expect(() => sql({ status: "gone" })).toThrow(ParameterValueError);
    expect(() => sql({ published: new Date(Number.NaN) })).toThrow(ParameterValueError);
    expect(() => sql({ year: undefined })).toThrow(FieldError);
  });

  it("The connection is usable after a refused value", async () => {
    await expect(Book.objects.filter({ title: "\0" })).rejects.toThrow(ParameterValueError);
    expect(await db().fetchval("select 1")).toBe(1);
  });

  it("filterFrom() filters and orders by the client's parameters that are allowed", async () => {
    const query = new URLSearchParams("year__gte=2000&author__name__icontains=banks");
    expect(await titles(Book.objects.filterFrom(query, ["year__gte", "author__name__icontains"]))).toEqual(["Matter"]);
    expect(
      await titles(Book.objects.filterFrom({ id__in: "1,2", year__isnull: "false" }, ["id__in", "year__isnull"])),
    ).toHaveLength(2);
    expect(() => Book.objects.filterFrom({ author__email: "x" }, ["year"])).toThrow(HttpError);
    expect(() => Book.objects.filterFrom({ year: "x" }, ["year"])).toThrow(HttpError);
    expect(
      (await Book.objects.orderFrom("-year,title", ["year", "title"]).filter({ year__gt: 0 }).first())?.title,
    ).toBe("Lavinia");
    expect(() => Book.objects.orderFrom("price", ["year"])).toThrow(HttpError);
  });

  it("A queryset made empty by none() matches nothing as a subquery, whatever the type of its values", async () => {
    const nobody = Author.objects.none();
    expect(await Book.objects.filter({ author__in: nobody }).count()).toBe(0);
    expect(await Book.objects.exclude({ author__in: nobody }).count()).toBe(6);
    expect(await Book.objects.filter({ id__in: nobody.flat("id") }).count()).toBe(0);
    expect(await Book.objects.filter({ title__in: nobody.flat("name") }).count()).toBe(0);
    expect(await Tag.objects.filter({ books__in: Book.objects.none() }).count()).toBe(0);
  });
});
