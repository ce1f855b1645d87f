import { afterEach, describe, expect, it } from "vitest";
import { App } from "../../src/entry/index.js";
import { createTables, LazyLoadError, strictRelations } from "../../src/entry/orm.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed, Tag } from "./bookshop.js";

const empty = emptyDatabases(service("postgres"));

describe("the database of models", () => {
  afterEach(() => strictRelations(false));

  it("Models use the application's database from its start to its end", async () => {
    const app = new App();
    app.enableDatabase(await empty());
    app.onEvent("startup", async () => {
      await createTables(app.database, bookshop);
      await seed();
    });
    app.get("/tags", () => Tag.objects.orderBy("id").values("name"));
    app.get("/rollback", async (request) => {
      await request.db
        .transaction(async () => {
          await Tag.objects.create({ name: "gone" });
          throw new Error("no");
        })
        .catch(() => {});
      return { count: await Tag.objects.using(request.db).count() };
    });
    const get = async (path: string): Promise<unknown> =>
      (await app.fetch(new globalThis.Request(`http://localhost${path}`))).json();
    await app.start();
    expect(await get("/tags")).toEqual([{ name: "fantasy" }, { name: "sf" }, { name: "classic" }]);
    expect(await get("/rollback")).toEqual({ count: 3 });
    strictRelations();
    const [book] = await Book.objects.limit(1);
    await expect(Promise.resolve(book!.author)).rejects.toThrow(LazyLoadError);
    await app.stop();
    await expect(Author.objects.count()).rejects.toThrow("no database for models");
  });
});
