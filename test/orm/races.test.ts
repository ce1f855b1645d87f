import { beforeEach, expect, it } from "vitest";
import { OperationalError } from "../../src/engines/db/errors.js";
import { MultipleObjectsReturned } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed, Tag } from "./bookshop.js";
import { describeDatabases, truncate } from "./databases.js";

describeDatabases("writing at the same time", service("postgres"), bookshop, (db) => {
  beforeEach(async () => {
    await truncate(db(), bookshop);
    await seed();
  });

  it("getOrCreate() returns the existing row, or creates it", async () => {
    const [there, created] = await Tag.objects.getOrCreate({ name: "sf" });
    expect([there.id, created]).toEqual([2, false]);
    const [made, second] = await Author.objects.getOrCreate(
      { name__iexact: "nobody", email: "n@example.org" },
      { name: "Nobody" },
    );
    expect([made.name, made.email, second]).toEqual(["Nobody", "n@example.org", true]);
    await expect(Book.objects.getOrCreate({ year: 2008 }, { title: "x", author: 1 })).rejects.toThrow(
      MultipleObjectsReturned,
    );
  });

  it("getOrCreate() creates one row under concurrent calls", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => Tag.objects.getOrCreate({ name: "race" })));
    expect(results.filter(([, created]) => created)).toHaveLength(1);
    expect(new Set(results.map(([tag]) => tag.id)).size).toBe(1);
  });

  it("getOrCreate() leaves its transaction usable if another call wins", async () => {
    await db().transaction(async () => {
      const [tag] = await Tag.objects.getOrCreate({ name: "inside" });
      const [again, created] = await Tag.objects.getOrCreate({ name: "inside" });
      expect([again.id, created]).toEqual([tag.id, false]);
      expect(await Tag.objects.count()).toBe(4);
    });
  });

  it("getOrCreate() rejects with a clear error if another unique column conflicts", async () => {
    await expect(Author.objects.getOrCreate({ name: "Somebody" }, { email: "ursula@example.org" })).rejects.toThrow(
      /conflicts with the new one/,
    );
  });

  it("updateOrCreate() loses no update under concurrent calls", async () => {
    const [made, created] = await Book.objects.updateOrCreate(
      { title: "Hits", author: 1 },
      { stock: 1 },
      { year: 2020 },
    );
    expect([made.stock, made.year, created]).toEqual([1, 2020, true]);
    const [updated, again] = await Book.objects.updateOrCreate({ title: "Hits", author: 1 }, { stock: 2 }, { year: 1 });
    expect([updated.id, updated.stock, updated.year, again]).toEqual([made.id, 2, 2020, false]);
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        Tag.objects.updateOrCreate({ name: "upsert" }, { name: "upsert" }, {}).then(([, fresh]) => [index, fresh]),
      ),
    );
    expect(results.filter(([, fresh]) => fresh)).toHaveLength(1);
    expect(await Tag.objects.filter({ name: "upsert" }).count()).toBe(1);
  });

  it("A locked row makes other queries wait, skip it or fail", async () => {
    if (db().engine === "pglite") return;
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let locked: () => void = () => {};
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    const holder = db().transaction(async (tx) => {
      await Book.objects.using(tx).filter({ id: 1 }).forUpdate().get();
      locked();
      await held;
    });
    await isLocked;
    await db().transaction(async (tx) => {
      expect(await Book.objects.using(tx).filter({ id__lte: 2 }).forUpdate({ skipLocked: true }).flat("id")).toEqual([
        2,
      ]);
    });
    const failing = db().transaction(async (tx) =>
      Book.objects.using(tx).filter({ id: 1 }).forUpdate({ nowait: true }).get(),
    );
    await expect(failing).rejects.toThrow(OperationalError);
    release();
    await holder;
  });
});
