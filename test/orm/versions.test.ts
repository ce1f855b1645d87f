import { App, HttpError } from "stoa";
import { beforeEach, expect, it } from "vitest";
import { field, Model, orConflict, orNotFound, partial, StaleError, softDelete } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Page extends Model("pages", {
  id: field.auto(),
  slug: field.text({ unique: true }),
  text: field.text({ default: "" }),
  version: field.version(),
}) {}

class Card extends Model("cards", {
  id: field.auto(),
  text: field.text(),
  revision: field.version(),
  ...softDelete(),
}) {}

class Remark extends Model("remarks", { id: field.auto(), page: field.foreignKey(() => Page) }) {}

describeDatabases("versions of rows", service("postgres"), [Page, Card, Remark], (db) => {
  beforeEach(() => truncate(db(), [Page, Card, Remark]));

  it("The second of two instances that change the same row is refused as stale", async () => {
    await Page.objects.create({ slug: "a" });
    const [first, second] = [await Page.objects.get({ slug: "a" }), await Page.objects.get({ slug: "a" })];
    first.text = "first";
    await first.save();
    expect(first.version).toBe(2);
    second.text = "second";
    await expect(second.save()).rejects.toThrow(StaleError);
    expect(await Page.objects.values("text", "version")).toEqual([{ text: "first", version: 2 }]);
    await second.refresh();
    second.text = "second";
    await second.save();
    expect(second.version).toBe(3);
    first.text = "again";
    await expect(first.save({ fields: ["text"] })).rejects.toThrow(StaleError);
    await expect(first.delete()).rejects.toThrow(StaleError);
    await second.delete();
    await expect(first.save()).rejects.toThrow(Page.DoesNotExist);
  });

  it("A version that a client sent is compared when it is assigned", async () => {
    const page = await Page.objects.create({ slug: "a" });
    Object.assign(page, { text: "x", version: 7 });
    await expect(page.save()).rejects.toThrow(StaleError);
    page.version = 1;
    await page.save();
    expect(page.version).toBe(2);
  });

  it("Updates of many rows count the version too, and refuse stale instances as a whole", async () => {
    const pages = await Page.objects.bulkCreate([{ slug: "a" }, { slug: "b" }]);
    for (const page of pages) page.text = "bulk";
    expect(await Page.objects.bulkUpdate(pages, ["text"])).toBe(2);
    expect(pages.map((page) => page.version)).toEqual([2, 2]);
    await Page.objects.filter({ slug: "b" }).update({ text: "elsewhere" });
    for (const page of pages) page.text = "late";
    await expect(Page.objects.bulkUpdate(pages, ["text"])).rejects.toThrow(StaleError);
    expect(await Page.objects.orderBy("slug").valuesList("text", "version")).toEqual([
      ["bulk", 2],
      ["elsewhere", 3],
    ]);
    await Page.objects.bulkCreate([{ slug: "b", text: "conflict" }], {
      onConflict: "update",
      conflictFields: ["slug"],
    });
    expect((await Page.objects.get({ slug: "b" })).version).toBe(4);
  });

  it("An instance whose bulk update was refused with a stale one still has its change to save", async () => {
    const [fresh, stale] = (await Page.objects.bulkCreate([{ slug: "a" }, { slug: "b" }])) as [Page, Page];
    await Page.objects.filter({ slug: "b" }).update({ text: "elsewhere" });
    fresh.text = stale.text = "mine";
    await expect(Page.objects.bulkUpdate([fresh, stale], ["text"])).rejects.toThrow(StaleError);
    await fresh.save();
    expect(await Page.objects.orderBy("slug").valuesList("text", "version")).toEqual([
      ["mine", 2],
      ["elsewhere", 2],
    ]);
  });

  it("The soft deletion of a stale row is refused", async () => {
    const card = await Card.objects.create({ text: "a" });
    await Card.objects.update({ text: "b" });
    await expect(card.delete()).rejects.toThrow(StaleError);
    await card.refresh();
    await card.delete();
    expect([card.revision, await Card.objects.count()]).toEqual([3, 0]);
  });

  it("A model has at most one version", () => {
    const Two = class extends Model("twos", { id: field.auto(), a: field.version(), b: field.version() }) {};
    expect(() => Two.meta).toThrow("twos has two fields of versions");
  });

  it("Helpers turn missing, duplicate and stale rows into 404 and 409", async () => {
    const app = new App();
    app.get("/pages/{slug}", ({ params }) => Page.objects.getOr404({ slug: params.slug }));
    app.post("/pages", { body: Page, status: 201 }, (_request, { body }) => orConflict(Page.objects.create(body)));
    app.patch("/pages/{slug}", { body: partial(Page) }, async ({ params, headers }, { body }) => {
      const page = await orNotFound(Page.objects.get({ slug: params.slug }), "No such page.");
      Object.assign(page, body, { version: Number(headers.get("if-match")) });
      return orConflict(page.save());
    });
    const send = async (method: string, path: string, body?: object, version = "1"): Promise<[number, unknown]> => {
      const response = await app.request(path, {
        method,
        headers: { "content-type": "application/json", "if-match": version },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return [response.status, await response.json()];
    };
    expect(await send("GET", "/pages/a")).toMatchObject([404, { detail: "There is no such resource." }]);
    expect((await send("POST", "/pages", { slug: "a" }))[0]).toBe(201);
    expect(await send("GET", "/pages/a")).toMatchObject([200, { slug: "a", version: 1 }]);
    expect(await send("POST", "/pages", { slug: "a" })).toMatchObject([
      409,
      { detail: "Another resource has the same values.", columns: ["slug"] },
    ]);
    expect(await send("PATCH", "/pages/a", { text: "x" })).toMatchObject([200, { version: 2 }]);
    expect(await send("PATCH", "/pages/a", { text: "y" })).toMatchObject([
      409,
      { detail: "The resource was changed since it was read." },
    ]);
    expect(await send("PATCH", "/pages/b", { text: "y" })).toMatchObject([404, { detail: "No such page." }]);
    const missing = await orConflict(Remark.objects.create({ pageId: 77 })).catch((error: HttpError) => error);
    expect(missing).toMatchObject({ status: 409, message: "A related resource does not exist, or is in use." });
    await expect(orConflict(Promise.reject(new TypeError("mine")))).rejects.toThrow(TypeError);
    await expect(orNotFound(Promise.resolve(null))).rejects.toThrow(HttpError);
    expect(await orNotFound(Promise.resolve(0))).toBe(0);
  });
});
