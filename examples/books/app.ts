import { App, Response, ValidationError } from "stoa";
import { z } from "zod";
import { Bookshelf } from "./books.js";
import { Book, BookChanges, BookId, BookList, Deleted, ErrorBody, NewBook } from "./schemas.js";

export function booksApp(): App {
  const app = new App();
  const shelf = new Bookshelf();

  const notFound = (): Response => Response.json({ error: "Book not found" }, { status: 404 });
  const absent = { 404: { description: "No book has this id", schema: ErrorBody }, 422: false } as const;
  const invalid = { 400: { description: "The body is not a book", schema: ErrorBody }, 422: false } as const;

  app.get(
    "/books",
    {
      tags: ["books"],
      summary: "List books",
      query: z.object({ genre: z.string().optional().describe("Only this genre, in upper or lower case") }),
      response: BookList,
      responses: { 400: { description: "The query is not valid", schema: ErrorBody }, 422: false },
    },
    (_request, { query }) => {
      const books = shelf.list(query.genre);
      return { books, total: books.length };
    },
  );

  app.get(
    "/books/{id}",
    { tags: ["books"], summary: "Get one book", params: BookId, response: Book, responses: absent },
    (_request, { params }) => shelf.get(params.id) ?? notFound(),
  );

  app.post(
    "/books",
    {
      tags: ["books"],
      summary: "Add a book",
      body: NewBook,
      anyContentType: true,
      response: Book,
      status: 201,
      responses: invalid,
    },
    (_request, { body }) => shelf.add(body),
  );

  app.put(
    "/books/{id}",
    {
      tags: ["books"],
      summary: "Change a book",
      params: BookId,
      body: BookChanges,
      anyContentType: true,
      response: Book,
      responses: { ...invalid, ...absent },
    },
    (_request, { params, body }) => shelf.update(params.id, body) ?? notFound(),
  );

  app.delete(
    "/books/{id}",
    { tags: ["books"], summary: "Delete a book", params: BookId, response: Deleted, responses: absent },
    (_request, { params }) => (shelf.delete(params.id) ? ({ deleted: true, id: params.id } as const) : notFound()),
  );

  // The tutorial's own form of a refusal, in place of the framework's 422.
  app.exceptionHandler(ValidationError, (_request, { issues }) => {
    if (issues.some(({ loc }) => loc[0] === "params")) return notFound();
    const error = issues.map(({ loc, msg }) => `${loc.slice(1).join(".") || "body"}: ${msg}`).join("; ");
    return Response.json({ error }, { status: 400 });
  });

  app.enableOpenapi({ title: "Books", description: "The books of the tutorial, kept in memory." });
  return app;
}
