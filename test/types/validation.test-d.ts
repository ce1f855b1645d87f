import { App, type BodyValidator, bodyValidatorSymbol, Response } from "stoa";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const Book = z.object({ id: z.number(), title: z.string() });

describe("the schema of a response", () => {
  it("The result of a handler is checked by the type of the response schema", () => {
    const app = new App();
    app.get("/a", { response: Book }, () => ({ id: 1, title: "Emma" }));
    app.get("/b", { response: Book }, async () => ({ id: 1, title: "Emma" }));
    app.get("/c", { response: Book }, () => Response.json({ error: "no" }, 404));
    app.get("/d", { response: Book }, async () => (Math.random() > 0.5 ? { id: 1, title: "" } : Response.noContent()));
    app.delete("/e", { response: z.void() }, () => {});
    app.delete("/f", { response: z.undefined() }, async () => {});
    // @ts-expect-error the title is missing
    app.get("/g", { response: Book }, () => ({ id: 1 }));
    // @ts-expect-error an id is a number
    app.get("/h", { response: Book }, async () => ({ id: "1", title: "" }));
    // @ts-expect-error something must be returned
    app.get("/i", { response: Book }, () => {});
  });

  it("The handler returns the input type of the response schema, not its output type", () => {
    const Stamped = z.object({ at: z.date().transform(String) });
    new App().get("/", { response: Stamped }, () => ({ at: new Date() }));
  });

  it("Handlers without a response schema can return anything", () => {
    new App().get("/", () => 5).get("/x", { summary: "x" }, () => undefined);
  });
});

describe("injected values", () => {
  it("The injected values have the output types of a form's schema and of a body validator", () => {
    const Model = {} as BodyValidator<{ title: string }>;
    const app = new App();
    app.post("/form", { form: z.object({ file: z.file() }) }, (_request, { form }) => {
      expectTypeOf(form.file).toEqualTypeOf<File>();
    });
    app.post("/model", { body: Model }, (_request, { body }) => {
      expectTypeOf(body).toEqualTypeOf<{ title: string }>();
    });
    expectTypeOf(Model[bodyValidatorSymbol]).parameter(0).toEqualTypeOf<Uint8Array>();
  });
});

describe("the options of a route", () => {
  it("A route can document its responses", () => {
    const app = new App();
    app.get(
      "/",
      { responses: { 404: "No such book", 409: Book, 410: { description: "Gone", schema: Book }, 500: false } },
      () => "",
    );
    // @ts-expect-error a description is a text
    app.get("/x", { responses: { 404: 5 } }, () => "");
  });
});
