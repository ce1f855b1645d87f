import { App } from "stoa";
import { field, Model, partial } from "stoa/orm";
import { expect, it } from "vitest";
import { service } from "../../support/service.js";
import { describeDatabases } from "../databases.js";
import { Author, Book, Sample, sample } from "./models.js";

class Amount extends Model("body_amounts", { id: field.auto(), d: field.decimal(), real: field.float() }) {}

describeDatabases("a body of a model", service("postgres"), [Author, Book, Sample, Amount], () => {
  const app = new App();
  app.post("/samples", { body: Sample, status: 201 }, (_request, { body }) => Sample.objects.create(body));
  app.post("/authors", { body: Author, status: 201 }, (_request, { body }) => Author.objects.create(body));
  app.post("/books", { body: Book, status: 201 }, (_request, { body }) => Book.objects.create(body));
  app.post("/amounts", { body: Amount, status: 201 }, (_request, { body }) => Amount.objects.create(body));
  app.patch("/books/{id}", { body: partial(Book) }, async (request, { body }) => {
    await Book.objects.filter({ id: Number(request.params.id) }).update(body);
    return Book.objects.get({ id: Number(request.params.id) });
  });

  const send = async (path: string, body: unknown, method = "POST"): Promise<[number, Record<string, unknown>]> => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await app.request(path, { method, body: text, headers: { "content-type": "application/json" } });
    return [response.status, (await response.json()) as Record<string, unknown>];
  };

  it("A body with every kind of column is stored and returned as it was sent", async () => {
    const [status, stored] = await send("/samples", sample);
    expect([status, stored]).toEqual([
      201,
      { ...sample, id: "1", counts: ["1", "2"], zoned: expect.stringMatching(/^12:34:56\+01/), span: "P1DT2H" },
    ]);
  });

  it("A returned body is accepted again", async () => {
    const [, first] = await send("/samples", { ...sample, span: "-P1Y2M3DT4.5S", moment: -1, clock: 0, time: 0.25 });
    const [status, second] = await send("/samples", first);
    expect([status, second]).toEqual([201, { ...first, id: expect.any(String) }]);
  });

  it.each([
    ["big", "-9223372036854775808"],
    ["big", -0],
    ["moment", "9999-12-31T23:59:59-01:00"],
    ["moment", "0001-01-01T00:00:00Z"],
    ["clock", "0001-01-01"],
    ["day", "0001-01-01"],
    ["day", "9999-12-31"],
    ["zoned", "12:00-15:59"],
    ["span", 86_399_999_999_999],
    ["span", -86_399_999_999_999],
    ["span", "P999999999D"],
    ["span", "P2739726Y"],
    ["span", "2400000000:00:00"],
    ["span", "PT0.000001S"],
    ["span", "P0.5Y"],
    ["ratio", 5e-324],
    ["ratio", "1.7976931348623157e308"],
    ["raw", ""],
    ["tags", []],
    ["tags", ['"', "\\", "{}", ",", "NULL", ""]],
    ["grid", []],
    ["data", "text"],
    ["data", false],
    ["text", "\u{10ffff}\u0001"],
  ])("A value at the limit of its type is stored: %s %j", async (key, value) => {
    expect(await send("/samples", { ...sample, [key]: value })).toMatchObject([201, {}]);
  });

  it("A stored decimal keeps its digits", async () => {
    for (const [sent, stored] of [
      ["12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"],
      ['"12.50"', "12.50"],
      ['"1e-16383"', `0.${"0".repeat(16382)}1`],
      ['"1e131071"', `1${"0".repeat(131071)}`],
      ['"-.5"', "-0.5"],
    ]) {
      expect(await send("/amounts", `{"d":${sent},"real":1}`)).toMatchObject([201, { d: stored }]);
    }
  });

  it("Defaults, and fields that clients cannot write, get their values from the model", async () => {
    const [, author] = await send("/authors", { name: "Jane Austen" });
    const [status, stored] = await send("/books", {
      title: "Emma",
      author: author["id"],
      id: 77,
      isbn: "x",
      label: "y",
    });
    expect([status, stored]).toMatchObject([
      201,
      { id: 1, title: "Emma", authorId: author["id"], stock: 0, isbn: null, label: "Emma!", deletedAt: null },
    ]);
    expect(await send("/books/1", { year: 1815 }, "PATCH")).toMatchObject([200, { title: "Emma", year: 1815 }]);
  });
});
