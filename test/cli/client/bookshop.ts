import { App, HttpError, Response } from "stoa";
import { field, listOptions, Model, partial } from "stoa/orm";
import { z } from "zod";

export class Author extends Model("authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100, comment: "As on the cover." }),
  born: field.date({ null: true }),
}) {}

const Genre = z.enum(["novel", "poetry"]).meta({ id: "Genre" });

const Book = z
  .object({
    id: z.int(),
    title: z.string().min(1).describe("As on the cover. */ With a comment's end, and an \u00e9."),
    genre: Genre.default("novel"),
    tags: z.array(z.string()).default([]),
    publisher: z.object({ name: z.string(), "post-code": z.string().nullable() }).optional(),
  })
  .meta({ id: "Book", description: "A book\nof the shop." });

/** A tree, whose name is that of a global type. */
const Shelf = z
  .object({
    name: z.string(),
    get parts() {
      return z.array(Shelf);
    },
  })
  .meta({ id: "Response" });

const Price = z.object({ title: z.string(), cents: z.int() }).meta({ id: "Price" });
const Taken = z.object({ taken: z.string() });

/** An application with every kind of input and response that a client has to know. It notes in `seen` who comes and leaves. */
export function bookshop(seen: string[] = []): App {
  const app = new App();
  const books = [{ id: 1, title: "Emma", genre: "novel" as const, tags: ["classic", "english"] }];
  let refusals = 0;

  app.get(
    "/books",
    {
      summary: "Books of the shop",
      query: z.object({
        genre: Genre.optional(),
        tag: z.array(z.string()).default([]),
        limit: z.int().max(50).default(20),
      }),
      response: z.object({ books: z.array(Book), limit: z.int() }),
    },
    (_request, { query }) => ({
      books: books.filter(
        ({ genre, tags }) => (query.genre ?? genre) === genre && query.tag.every((tag) => tags.includes(tag)),
      ),
      limit: query.limit,
    }),
  );
  app.post(
    "/books",
    { body: Book.omit({ id: true }).meta({ id: "NewBook" }), response: Book, status: 201, responses: { 409: Taken } },
    (_request, { body }) => {
      if (body.title === "Emma") return Response.json({ taken: body.title }, 409);
      return { id: 2, ...body };
    },
  );
  app.get("/books/{id}", { params: z.object({ id: z.int() }), response: Book }, (_request, { params }) => {
    const found = books.find(({ id }) => id === params.id);
    if (!found) throw new HttpError(404, "No book has this number.", { code: "NO_SUCH_BOOK" });
    return found;
  });
  app.delete("/books/{id}", { status: 204, deprecated: true }, () => null);
  app.get("/books/{id}/text", { response: z.string() }, (request) => `text of ${request.params.id}`);
  app.get("/books/{id}/cover", { responses: { 200: { description: "The picture", contentType: "image/png" } } }, () =>
    Response.bytes(new Uint8Array([137, 80, 78, 71]), { headers: { "Content-Type": "image/png" } }),
  );
  app.put(
    "/books/{id}/cover",
    { form: z.object({ caption: z.string(), cover: z.file(), colors: z.array(z.string()) }), response: z.unknown() },
    async (_request, { form }) => ({ caption: form.caption, size: form.cover.size, colors: form.colors }),
  );
  app.post(
    "/import",
    { openapi: { requestBody: { required: true, content: { "text/csv": {} } } } },
    async (request) => ({ type: request.headers.get("content-type"), text: await request.text() }),
  );

  app.get(
    "/prices",
    {
      query: z.object({ endless: z.boolean().default(false) }),
      responses: { 200: { contentType: "text/event-stream", schema: Price } },
    },
    (_request, { query }) =>
      Response.sse(async function* (signal) {
        signal.addEventListener("abort", () => seen.push("left"));
        yield { data: { title: "Emma", cents: 950 }, id: 7, event: "price" };
        yield { comment: "not an event" };
        yield { data: { title: "Two\nlines", cents: 1 } };
        if (query.endless) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
  );
  app.get("/log", { responses: { 200: { contentType: "text/event-stream" } } }, () =>
    Response.sse(async function* () {
      yield "one\ntwo";
      yield "3";
    }),
  );

  const Color = z.enum(["red", "null"]).meta({ id: "Color" });
  app.get("/colors", { responses: { 200: { contentType: "text/event-stream", schema: Color } } }, () =>
    Response.sse(async function* () {
      yield "red";
      yield "null";
    }),
  );
  const Answer = z.union([z.object({ part: z.string() }), z.literal("[DONE]")]);
  app.get("/answers", { responses: { 200: { contentType: "text/event-stream", schema: Answer } } }, () =>
    Response.sse(async function* () {
      yield { part: "yes" };
      yield "[DONE]";
    }),
  );

  const refuse = () => {
    if (++refusals % 3 !== 0) throw new HttpError(503, "Come back.", { headers: { "Retry-After": "0" } });
    return { attempts: refusals };
  };
  const attempts = { response: z.object({ attempts: z.int() }), responses: { 503: "Busy" } };
  app.get("/busy", attempts, refuse);
  app.post("/busy", { ...attempts, headers: z.object({ "idempotency-key": z.string().optional() }) }, refuse);

  app.get("/slow", async (request) => {
    seen.push("came");
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    seen.push("left");
  });

  app.get("/shelves", { response: Shelf }, () => ({ name: "all", parts: [{ name: "left", parts: [] }] }));
  app.get("/files/{path:*}", (request) => ({ path: request.params.path }));
  app.get("/search", { query: z.record(z.string(), z.string()) }, (_request, { query }) => query);
  app.get("/me", { headers: z.object({ "x-user": z.string(), "x-limit": z.int().optional() }) }, (request) => ({
    user: request.headers.get("x-user"),
    token: request.headers.get("authorization"),
  }));
  const authors = { filters: ["name__icontains", "id__in", "born__gte"], orders: ["name"], by: "key" } as const;
  app.get("/authors", listOptions(Author, authors), (request) => ({
    items: [{ id: 1, name: request.query.getAll("id__in").join(), born: null }],
    next: null,
    previous: null,
  }));
  app.post("/authors", { body: Author, response: Author, status: 201 }, (_request, { body }) => ({ id: 1, ...body }));
  app.patch("/authors/{id}", { body: partial(Author) }, (_request, { body }) => body);
  app.get("/broken", () => {
    throw new Error("broken");
  });
  app.websocket("/chat/{room}", { summary: "A room", query: z.object({ name: z.string() }) }, async (socket) => {
    await socket.sendText(`${socket.request.params.room} ${socket.request.query.get("name")}`);
  });
  return app;
}
