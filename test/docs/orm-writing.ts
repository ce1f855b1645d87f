/** The code of docs/orm-writing.md. The compiler checks it; a test compares it with the page. */
import type { App, Request } from "stoa";
import { excluded, F, field, Model, nested, orConflict, unset } from "stoa/orm";

class Tag extends Model("tags", { id: field.auto(), name: field.text({ unique: true }) }) {}

class Author extends Model("authors", {
  id: field.auto(),
  name: field.text(),
  settings: field.json<{ theme?: string; mail?: { weekly?: boolean } }>({ default: {} }),
  get books() {
    return field.reverse(() => Book, "author");
  },
}) {}

class Book extends Model(
  "books",
  {
    id: field.auto(),
    title: field.text(),
    author: field.foreignKey(() => Author),
    stock: field.int({ default: 0 }),
    version: field.version(),
    tags: field.manyToMany(() => Tag),
  },
  { unique: [["author", "title"]] },
) {}

export async function related(sf: Tag): Promise<unknown[]> {
  const author = await Author.objects.create({
    name: "Ursula K. Le Guin",
    books: [{ title: "Lavinia", tags: [sf, 3, { name: "myth" }] }, { title: "The Telling" }],
  });
  const book = await Book.objects.create({ title: "Kindred", author: { name: "Octavia Butler" } });
  return [author, book];
}

export function bodies(app: App): void {
  app.post("/authors", { body: nested(Author, "books", "books__tags"), status: 201 }, (_request, { body }) =>
    Author.objects.create(body),
  );
}

export async function returned(): Promise<unknown[]> {
  const count = await Book.objects.filter({ stock: 0 }).delete();
  const sold = await Book.objects
    .filter({ stock__gt: 0 })
    .update({ stock: F("stock").minus(1) })
    .returning();
  const titles = await Book.objects.filter({ author: 1 }).delete().returning("id", "title");
  return [count, sold, titles];
}

export async function conflicts(rows: { title: string; author: number; stock: number }[]): Promise<void> {
  await Book.objects.bulkCreate(rows, {
    onConflict: "update",
    conflictFields: ["author", "title"],
    update: { stock: F("stock").plus(excluded("stock")) },
    conflictWhere: { stock__lt: 1000 },
  });
}

export async function keys(): Promise<void> {
  await Author.objects.update({ settings__theme: "dark", settings__mail__weekly: unset });
}

export async function versions(request: Request, body: { title: string }): Promise<void> {
  const current = await Book.objects.get({ id: 1 });
  current.version = Number(request.headers.get("if-match"));
  current.title = body.title;
  await orConflict(current.save());
}

export function responses(app: App): void {
  app.get("/books/{id}", (request) => Book.objects.getOr404({ id: Number(request.params.id) }));
  app.post("/books", { body: Book, responses: { 409: "The author has a book of this title." } }, (_request, { body }) =>
    orConflict(Book.objects.create(body), "The author has a book of this title."),
  );
}
