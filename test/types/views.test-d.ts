import { App } from "stoa";
import { count, field, type Manager, Model, View } from "stoa/orm";
import { describe, expectTypeOf, it } from "vitest";

class Author extends Model("authors", {
  id: field.auto(),
  name: field.text(),
  get shelf() {
    return field.reverseOne(() => Shelf, "author");
  },
  get totals() {
    return field.reverse(() => Total, "author");
  },
}) {}

class Book extends Model("books", { id: field.auto(), title: field.text(), author: field.foreignKey(() => Author) }) {}

/** In a circle: its queryset leads to Author, and Author leads to it. */
class Shelf extends View(
  "shelves",
  { author: field.oneToOne(() => Author, { primaryKey: true }), books: field.int() },
  { as: () => Book.objects.values("author").annotate({ books: count() }), materialized: true },
) {
  declare static objects: Manager<Shelf>;
  get label() {
    return String(this.books);
  }
}

class Total extends View(
  "totals",
  { author: field.foreignKey(() => Author), year: field.int(), sold: field.int({ null: true }) },
  { primaryKey: ["author", "year"], ordering: ["-sold"], as: "select 1 as author_id, 1 as year, 1 as sold" },
) {}

describe("the types of views", () => {
  it("Rows have fields, relations and methods, and can be refreshed", async () => {
    const [row] = await Shelf.objects
      .filter({ author__name: "x", books__gte: 2 })
      .selectRelated("author")
      .orderBy("-books");
    expectTypeOf(row!.author.name).toEqualTypeOf<string>();
    expectTypeOf(row!.label).toEqualTypeOf<string>();
    expectTypeOf((await Total.objects.get()).sold).toEqualTypeOf<number | null>();
    const author = await Author.objects.selectRelated("shelf").prefetchRelated("totals").get({ shelf__books: 2 });
    expectTypeOf(author.shelf?.books).toEqualTypeOf<number | undefined>();
    expectTypeOf(author.totals[0]!.year).toEqualTypeOf<number>();
    expectTypeOf(Shelf.refresh({ concurrently: true })).toEqualTypeOf<Promise<void>>();
    new App().get("/shelves", () => Shelf.objects.orderBy("books"));
    // @ts-expect-error No such field.
    Shelf.objects.filter({ author__nam: "x" });
    // @ts-expect-error No such field.
    View("v", { id: field.int({ primaryKey: true }) }, { ordering: ["name"] });
  });

  it("Nothing writes rows", async () => {
    const { objects } = Shelf;
    const row = await objects.get();
    // @ts-expect-error Read only.
    await objects.create({ author: 1, books: 2 });
    // @ts-expect-error Read only.
    await objects.bulkCreate([]);
    // @ts-expect-error Read only.
    await objects.bulkUpdate([row], ["books"]);
    // @ts-expect-error Read only.
    await objects.getOrCreate({ author: 1 });
    // @ts-expect-error Read only.
    await objects.updateOrCreate({ author: 1 }, { books: 2 });
    // @ts-expect-error Read only, after other calls too.
    await objects
      .filter({ books: 1 })
      .annotate({ n: count("author__totals") })
      .update({ books: 2 });
    // @ts-expect-error Read only.
    await objects.updateReturning({ books: 2 });
    // @ts-expect-error Read only.
    await objects.filter({ books: 1 }).delete();
    // @ts-expect-error Read only.
    await objects.hardDelete();
    // @ts-expect-error Read only.
    await ({} as Author).related("totals").create({ year: 1 });
    // @ts-expect-error A row is not saved,
    await row.save();
    // @ts-expect-error nor deleted,
    await row.delete();
    // @ts-expect-error nor changed.
    row.books = 3;
    // @ts-expect-error There are no hooks of writes.
    Shelf.on("beforeSave", () => {});
    // @ts-expect-error A view is no body.
    new App().post("/shelves", { body: Shelf }, () => null);
    await Book.objects.filter({ id: 1 }).delete();
  });
});
