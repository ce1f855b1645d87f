import { describe, expect, it } from "vitest";
import { booksApp } from "../../examples/books/app.js";
import { served, transports } from "./support.js";

describe.each(transports)("the books application over %s", (transport) => {
  const { call, get, post, put, del } = served(booksApp, transport);

  it("The books application creates a book with 201, sequential ids and defaults", async () => {
    const first = await post("/books", { title: "Emma", author: "Jane Austen", genre: "Novel", year: 1815 });
    expect(first.status).toBe(201);
    expect(first.json).toEqual({ id: 1, title: "Emma", author: "Jane Austen", genre: "Novel", year: 1815 });
    const second = await post("/books", { title: "Kalevala" });
    expect(second.json).toEqual({ id: 2, title: "Kalevala", author: "Unknown", genre: "general", year: null });
  });

  it("The books application takes a body as curl -d sends it", async () => {
    const { status, json } = await call("/books", {
      method: "POST",
      body: '{"title":"Typed by hand"}',
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect([status, json.title]).toEqual([201, "Typed by hand"]);
    expect((await del(`/books/${json.id}`)).status).toBe(200);
  });

  it("The books application lists books with their total, filtered by genre in any case", async () => {
    const all = await get("/books");
    expect(all.status).toBe(200);
    expect(all.json).toMatchObject({ total: 2, books: [{ id: 1 }, { id: 2 }] });
    expect((await get("/books?genre=NOVEL")).json).toMatchObject({ total: 1, books: [{ title: "Emma" }] });
    expect((await get("/books?genre=none")).json).toEqual({ books: [], total: 0 });
  });

  it("The books application returns one book, or 404 with an error", async () => {
    expect((await get("/books/1")).json).toMatchObject({ title: "Emma" });
    for (const id of ["99", "abc", "1.5", "-1", "1e0", "__proto__", "%00"]) {
      const missing = await get(`/books/${id}`);
      expect([404, 400]).toContain(missing.status);
      expect(missing.json).toHaveProperty("error");
    }
    expect((await get("/books/99")).status).toBe(404);
  });

  it("The books application refuses an empty body, a missing title and malformed JSON with 400 and an error", async () => {
    for (const body of ["", "{}", "[]", "null", "{", '{"title": ""}', '{"title": 5}', '{"title":"a","year":"x"}']) {
      const refused = await post("/books", body);
      expect([refused.status, typeof refused.json.error]).toEqual([400, "string"]);
    }
    expect((await get("/books")).json.total).toBe(2);
  });

  it("The books application changes only the supplied fields", async () => {
    const changed = await put("/books/2", { author: "Elias Lönnrot", year: 1835 });
    expect(changed.status).toBe(200);
    expect(changed.json).toEqual({ id: 2, title: "Kalevala", author: "Elias Lönnrot", genre: "general", year: 1835 });
    expect((await put("/books/2", { year: null })).json.year).toBeNull();
    expect((await put("/books/99", { title: "x" })).status).toBe(404);
    expect((await put("/books/2", { title: 5 })).status).toBe(400);
  });

  it("The books application deletes a book once", async () => {
    expect((await del("/books/1")).json).toEqual({ deleted: true, id: 1 });
    const again = await del("/books/1");
    expect(again.status).toBe(404);
    expect(again.json).toHaveProperty("error");
  });
});
