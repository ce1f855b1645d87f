import { App } from "stoa";
import { field, Model, partial } from "stoa/orm";
import { describe, expect, it } from "vitest";
import { modelSchema, partialSchema } from "../../../src/orm/body/model-schema.js";
import { Book, Sample } from "./models.js";

const Account = class Account extends Model(
  "body_accounts",
  {
    id: field.bigAuto(),
    name: field.char({ maxLength: 20, comment: "As it is shown." }),
    password: field.text({ hidden: true }),
    balance: field.decimal({ default: "0" }),
    limit: field.bigInt({ default: 5n }),
    role: field.enum(["user", "admin"], { null: true, default: "user" }),
    info: field.json({ null: true }),
    sizes: field.array(field.bigInt(), { default: [] }),
    seen: field.datetime({ autoNow: true }),
    owner: field.foreignKey(() => Book, { null: true }),
  },
  { comment: "Who may log in." },
) {};

describe("the schema of a model", () => {
  it("The input schema of a model has the fields that clients can send, and requires those without a value of their own", () => {
    expect(modelSchema(Account.meta, "input")).toEqual({
      name: "Account",
      schema: {
        type: "object",
        description: "Who may log in.",
        properties: {
          name: { type: "string", maxLength: 20, description: "As it is shown." },
          password: { type: "string" },
          balance: { type: ["string", "number"], format: "decimal", default: "0" },
          limit: { type: ["string", "integer"], format: "int64", pattern: "^-?\\d+$", default: "5" },
          role: { type: ["string", "null"], enum: ["user", "admin", null], default: "user" },
          info: {},
          sizes: {
            type: "array",
            items: { type: ["string", "integer"], format: "int64", pattern: "^-?\\d+$" },
            default: [],
          },
          ownerId: { type: ["integer", "null"], format: "int32", minimum: -2147483648, maximum: 2147483647 },
        },
        required: ["name", "password"],
      },
    });
  });

  it("The output schema of a model has all columns except the hidden ones", () => {
    const { schema } = modelSchema(Account.meta, "output");
    expect(Object.keys(schema["properties"] as object)).toEqual(schema["required"]);
    expect(schema["required"]).toEqual(["id", "name", "balance", "limit", "role", "info", "sizes", "seen", "ownerId"]);
    expect(schema["properties"]).toMatchObject({
      id: { type: "string", format: "int64" },
      balance: { type: "string", format: "decimal" },
      seen: { type: "string", format: "date-time" },
    });
  });

  it("The schema of a partial body requires nothing and has no defaults", () => {
    const { name, schema } = partialSchema(Account.meta);
    expect([name, schema["required"]]).toEqual(["PartialAccount", undefined]);
    expect(schema["properties"]).toMatchObject({ role: { enum: ["user", "admin", null] } });
    expect(JSON.stringify(schema)).not.toContain("default");
  });

  it("The schema of a model describes every kind of column", () => {
    const { schema } = modelSchema(Sample.meta, "input");
    const types = Object.entries(schema["properties"] as Record<string, { type?: unknown; format?: string }>);
    expect(types.map(([name, { type, format }]) => [name, type, format])).toEqual([
      ["small", "integer", "int16"],
      ["whole", "integer", "int32"],
      ["big", ["string", "integer"], "int64"],
      ["ratio", "number", "double"],
      ["price", ["string", "number"], "decimal"],
      ["on", "boolean", undefined],
      ["code", "string", undefined],
      ["text", "string", undefined],
      ["key", "string", "uuid"],
      ["data", undefined, undefined],
      ["moment", "string", "date-time"],
      ["clock", "string", "local-date-time"],
      ["day", "string", "date"],
      ["time", "string", "time"],
      ["zoned", "string", "time"],
      ["span", "string", "duration"],
      ["raw", "string", undefined],
      ["tags", "array", undefined],
      ["counts", "array", undefined],
      ["grid", "array", undefined],
      ["status", "string", undefined],
      ["path", undefined, undefined],
    ]);
  });
});

describe("models in OpenAPI", () => {
  it("OpenAPI shares models by name, with one schema for input and one for output", async () => {
    const app = new App();
    app.enableOpenapi({ title: "Books" });
    app.post("/books", { body: Book, response: Book, status: 201 }, (_request, { body }) => new Book(body));
    app.patch("/books/{id}", { body: partial(Book), response: Book }, (_request, { body }) => new Book(body));
    const { paths, components } = (await (await app.request("/openapi.json")).json()) as {
      paths: Record<string, Record<string, { requestBody: object; responses: Record<string, object> }>>;
      components: { schemas: Record<string, { properties: object; required?: string[] }> };
    };
    const content = (name: string) => ({
      content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
    });
    expect(paths["/books"]!["post"]).toMatchObject({
      requestBody: { required: true, ...content("BookInput") },
      responses: { 201: content("Book") },
    });
    expect(paths["/books/{id}"]!["patch"]).toMatchObject({ requestBody: content("PartialBook") });
    const { Book: answered, BookInput: sent, PartialBook: part } = components.schemas;
    expect(Object.keys(sent!.properties)).toEqual(["title", "authorId", "editorId", "year", "stock"]);
    expect(sent!.required).toEqual(["title", "authorId"]);
    expect(Object.keys(answered!.properties)).toContain("createdAt");
    expect(part!.required).toBeUndefined();
  });
});
