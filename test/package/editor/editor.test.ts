import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { installPackage, root } from "../../support/installed-package.js";
import { costTests } from "./cost.js";
import { hoverTests } from "./hover.js";
import { type Editor, openProject } from "./language-service.js";
import { modelTests } from "./models.js";
import { optionTests } from "./options.js";

// Each question checks the package's types; on a busy machine that takes its time.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

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
let makeEditor: (imports: string) => Editor;
let editor: Editor;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-editor-"));
  await installPackage(folder);
  await cp(join(root, "test/orm/bookshop.ts"), join(folder, "bookshop.ts"));
  const compilerOptions = { target: "ES2022", module: "NodeNext", strict: true, skipLibCheck: true, types: ["node"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  makeEditor = openProject(folder);
  editor = makeEditor(models);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("an editor on a project that has the package installed", () => {
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

// One process and one compiler for all of them: to read the types takes longer than the questions.
optionTests((imports) => makeEditor(imports));
hoverTests((imports) => makeEditor(imports));
modelTests((imports) => makeEditor(imports));
costTests(() => folder);
