import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installPackage } from "../support/installed-package.js";
import { type Editor, openEditor } from "../support/language-service.js";

const models = `
import { App } from "stoa";
import { field, Model } from "stoa/orm";
class Author extends Model("authors", { id: field.auto(), name: field.char({ maxLength: 100 }) }) {}
class Book extends Model("books", {
  id: field.auto(),
  title: field.text(),
  year: field.int({ null: true }),
  author: field.foreignKey(() => Author),
}) {}
const app = new App();`;

let folder: string;
let editor: Editor;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-editor-"));
  await installPackage(folder);
  const compilerOptions = { target: "ES2022", module: "NodeNext", strict: true, types: ["node"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  editor = openEditor(models, folder);
}, 600_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("an editor on a project that has the package installed", { timeout: 300_000 }, () => {
  it("An editor suggests the keys of filters, the names of orders and the options of fields from the package", () => {
    const [filters, orders, ints, chars, routes] = editor.eachCompletions(`
      Book.objects.filter({ | });
      Book.objects.orderBy("|");
      field.int({ | });
      field.char({ | });
      app.get("/", { | }, () => "");
    `);
    expect(filters).toEqual(expect.arrayContaining(["title", "year__gte", "author__name__icontains"]));
    expect(orders).toEqual(expect.arrayContaining(["title", "-year", "author__name"]));
    expect(ints).toEqual(expect.arrayContaining(["null", "default", "unique"]));
    expect(chars).toEqual(expect.arrayContaining(["maxLength", "collation"]));
    expect(routes).toEqual(expect.arrayContaining(["body", "guards", "cache"]));
  });

  it("An editor shows the comments of methods and of the options of fields from the package", () => {
    const comments = editor.eachComment(`
      field.char({ |maxLength: 100, |unique: true, |collation: "C" });
      field.decimal({ |precision: 10, |scale: 2, |check: "price >= 0" });
      field.foreignKey(() => Author, { |null: true, |onDelete: "restrict", |onUpdate: "cascade" });
      field.enum(["a"], { |default: "a", |hidden: true });
      app.|enableCors();
      Book.objects.|filter({ year: 2000 });
    `);
    expect(comments).toHaveLength(13);
    expect(comments.filter((comment) => comment !== "")).toEqual(comments);
  });

  it("An error from the package lists the names of an order, or is the type of a filter's value alone", () => {
    const [order] = editor.errors('Book.objects.orderBy("titel")');
    expect(order).toMatch(/^Argument of type '"titel"' is not assignable to parameter of type '[\w"| ]+'\.$/);
    for (const name of ["id", "title", "year", "author", "authorId", "author__name"])
      expect(order).toContain(`"${name}"`);
    const [error] = editor.errors('Book.objects.filter({ year: "2000" })');
    expect(error).toBe("Type 'string' is not assignable to type 'ValueOrSubquery<number | null>'.");
  });
});
