import { beforeAll, expect, it } from "vitest";
import { arrayAgg, count, FieldError, field, Model, max, Q, softDelete, sum } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Country, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

class Album extends Model("albums", {
  id: field.auto(),
  name: field.text(),
  get songs() {
    return field.reverse(() => Song, "album");
  },
  get styles() {
    return field.manyToMany(() => Style);
  },
}) {}

class Song extends Model("songs", {
  id: field.auto(),
  name: field.text(),
  album: field.foreignKey(() => Album),
  ...softDelete(),
}) {}

class Style extends Model("styles", { id: field.auto(), name: field.text(), ...softDelete() }) {}

const models = [...bookshop, Album, Style, Song];

describeDatabases("values of to-many relations", service("postgres"), models, () => {
  beforeAll(async () => {
    await seed();
    const [first, second] = await Album.objects.bulkCreate([{ name: "one" }, { name: "two" }]);
    const songs = await Song.objects.bulkCreate([
      { name: "a", album: first! },
      { name: "b", album: first! },
      { name: "c", album: second! },
    ]);
    const [jazz, folk] = await Style.objects.bulkCreate([{ name: "jazz" }, { name: "folk" }]);
    await first!.related("styles").add(jazz!, folk!);
    await second!.related("styles").add(folk!);
    await songs[2]!.delete();
    await folk!.delete();
  });

  it("values() returns one row for each related row, and one with null without any", async () => {
    const rows = Book.objects.values("title", "tags__name").orderBy("id", "tags__name");
    expect(await rows).toEqual([
      { title: "A Wizard of Earthsea", tags__name: "classic" },
      { title: "A Wizard of Earthsea", tags__name: "fantasy" },
      { title: "The Dispossessed", tags__name: "classic" },
      { title: "The Dispossessed", tags__name: "sf" },
      { title: "Lavinia", tags__name: null },
      { title: "Consider Phlebas", tags__name: "sf" },
      { title: "Matter", tags__name: "sf" },
      { title: "Kindred", tags__name: null },
    ]);
    expect((await rows.json()).value()).toEqual(await rows);
    expect(await rows.count()).toBe(8);
    expect(await rows.reverse().first()).toEqual({ title: "Kindred", tags__name: null });
    const seen: unknown[] = [];
    for await (const row of rows) seen.push(row);
    expect(seen).toEqual(await rows);
  });

  it("valuesList() and flat() follow to-many relations, and the relation alone is its key", async () => {
    expect(await Book.objects.filter({ id__lte: 2 }).valuesList("id", "tags").orderBy("id", "tags")).toEqual([
      [1, 1],
      [1, 3],
      [2, 2],
      [2, 3],
    ]);
    expect(await Author.objects.flat("books__title").orderBy("books__title").limit(2)).toEqual([
      "A Wizard of Earthsea",
      "Consider Phlebas",
    ]);
    expect(await Tag.objects.flat("books__author__name").distinct().orderBy("books__author__name")).toEqual([
      "Iain Banks",
      "Ursula K. Le Guin",
    ]);
  });

  it("values() follows two to-many relations one after the other", async () => {
    const rows = await Author.objects
      .values("name", "books__tags__name")
      .annotate({ n: count() })
      .orderBy("name", "books__tags__name");
    expect(rows.slice(0, 3)).toEqual([
      { name: "Iain Banks", books__tags__name: "sf", n: 2 },
      { name: "Octavia Butler", books__tags__name: null, n: 1 },
      { name: "Ursula K. Le Guin", books__tags__name: "classic", n: 2 },
    ]);
  });

  it("Rows are grouped by fields of to-many relations", async () => {
    const groups = Book.objects.values("tags__name").annotate({
      n: count(),
      copies: sum("stock"),
      newest: max("year"),
      titles: arrayAgg("title", { orderBy: ["id"] }),
    });
    expect(await groups.orderBy("tags__name")).toEqual([
      { tags__name: "classic", n: 2, copies: 3, newest: 1974, titles: ["A Wizard of Earthsea", "The Dispossessed"] },
      { tags__name: "fantasy", n: 1, copies: 3, newest: 1968, titles: ["A Wizard of Earthsea"] },
      { tags__name: "sf", n: 3, copies: 8, newest: 2008, titles: expect.arrayContaining(["Matter"]) },
      { tags__name: null, n: 2, copies: 7, newest: 2008, titles: ["Lavinia", "Kindred"] },
    ]);
    const large = await groups.filter({ n__gt: 1 }).orderBy("-n", "tags__name");
    expect(large.map((group) => group.tags__name)).toEqual(["sf", "classic", null]);
    expect(await groups.count()).toBe(4);
    expect(await groups.aggregate({ most: max("n") })).toEqual({ most: 3 });
    expect(await Country.objects.values("code", "authors__books__year" as never).count()).toBe(5);
  });

  it("A filter before values() chooses rows, and one after it chooses related rows", async () => {
    const books = Book.objects.filter({ tags__name: "classic" });
    expect(await books.values("id", "tags__name").orderBy("id", "tags__name")).toEqual([
      { id: 1, tags__name: "classic" },
      { id: 1, tags__name: "fantasy" },
      { id: 2, tags__name: "classic" },
      { id: 2, tags__name: "sf" },
    ]);
    const rows = books.values("id", "tags__name");
    expect(await rows.filter({ tags__name: "sf" })).toEqual([{ id: 2, tags__name: "sf" }]);
    expect(await rows.filter({ tags__name__startswith: "f" })).toEqual([{ id: 1, tags__name: "fantasy" }]);
    expect(await rows.exclude({ tags__name: "classic" }).orderBy("id").flat("id")).toEqual([1, 2]);
    expect(await rows.filter(Q.or({ tags__name: "sf" }, { tags__name: "fantasy" })).count()).toBe(2);
    expect(await Book.objects.values("id", "tags__name").filter({ tags__name: null }).orderBy("id").flat("id")).toEqual(
      [3, 6],
    );
    // The same filter on the other side of values() has a statement of its own.
    expect(await books.values("id", "tags__name").count()).toBe(4);
  });

  it("A queryset of related values is a list for a lookup", async () => {
    const tagged = Book.objects.filter({ author: 2 }).flat("tags");
    expect(await Tag.objects.filter({ id__in: tagged }).flat("name")).toEqual(["sf"]);
  });

  it("aggregate() computes over the rows of related values", async () => {
    const rows = Book.objects.values("stock", "tags__name");
    expect(
      await rows.aggregate({ n: count(), tags: count("tags__name"), kinds: count("tags__name", { distinct: true }) }),
    ).toEqual({
      n: 8,
      tags: 6,
      kinds: 3,
    });
  });

  it("Related rows that are deleted softly are in no row and in no group", async () => {
    expect(await Album.objects.values("name", "songs__name").orderBy("name", "songs__name")).toEqual([
      { name: "one", songs__name: "a" },
      { name: "one", songs__name: "b" },
      { name: "two", songs__name: null },
    ]);
    expect(await Album.objects.values("name", "styles__name").orderBy("name")).toEqual([
      { name: "one", styles__name: "jazz" },
      { name: "two", styles__name: null },
    ]);
    expect(
      await Album.objects
        .values("name")
        .annotate({ n: count("songs") })
        .orderBy("name"),
    ).toEqual([
      { name: "one", n: 2 },
      { name: "two", n: 0 },
    ]);
  });

  it("Names that are no fields of related rows are refused", () => {
    for (const wrong of ["tags__nothing", "tags__name__nothing", "nothing__name", "tags__"])
      expect(() => Book.objects.values(wrong as never).toSql()).toThrow(FieldError);
    expect(() => Book.objects.orderBy("tags__name" as never)).toThrow(/of which there are many/);
    expect(() => Book.objects.values("title").orderBy("tags__name" as never)).toThrow(/of which there are many/);
  });
});
