import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { App, type StandardSchema } from "stoa";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";

interface Detail {
  readonly loc: unknown[];
  readonly msg: string;
  readonly type: string;
}

const secret = "hunter2-s3cret";

/** What an application says of a body that breaks its schema. */
async function refusal(schema: StandardSchema, body: unknown): Promise<Detail[]> {
  const app = new App();
  app.post("/", { body: schema }, () => "passed");
  const response = await app.request("/", {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const text = await response.text();
  expect([response.status, text.includes(secret)]).toEqual([422, false]);
  return (JSON.parse(text) as { detail: Detail[] }).detail;
}

const wrong = { age: secret, kind: secret, mail: secret, nested: { list: [secret, 1] } };

describe("a body that breaks its schema", () => {
  it("Errors of zod are reported with its codes and messages", async () => {
    const schema = z.object({
      age: z.number(),
      kind: z.enum(["a", "b"]),
      mail: z.email(),
      nested: z.object({ list: z.array(z.number()) }),
    });
    expect(await refusal(schema, wrong)).toEqual([
      { loc: ["body", "age"], msg: "Invalid input: expected number, received string", type: "invalid_type" },
      { loc: ["body", "kind"], msg: 'Invalid option: expected one of "a"|"b"', type: "invalid_value" },
      { loc: ["body", "mail"], msg: "Invalid email address", type: "invalid_format" },
      {
        loc: ["body", "nested", "list", 0],
        msg: "Invalid input: expected number, received string",
        type: "invalid_type",
      },
    ]);
  });

  it("Errors of valibot are reported with its types and messages, without the received value", async () => {
    const schema = v.object({
      age: v.number(),
      kind: v.picklist(["a", "b"]),
      mail: v.pipe(v.string(), v.email()),
      nested: v.object({ list: v.array(v.number()) }),
    });
    expect(await refusal(schema, wrong)).toEqual([
      { loc: ["body", "age"], msg: "Invalid type: Expected number", type: "number" },
      { loc: ["body", "kind"], msg: 'Invalid type: Expected ("a" | "b")', type: "picklist" },
      { loc: ["body", "mail"], msg: "Invalid email", type: "email" },
      { loc: ["body", "nested", "list", 0], msg: "Invalid type: Expected number", type: "number" },
    ]);
  });

  it("Errors of arktype are reported with its codes and messages, without the received value", async () => {
    const schema = type({ age: "number", kind: "'a'|'b'", mail: "string.email", nested: { list: "number[]" } });
    const detail = await refusal(schema, wrong);
    expect(detail).toContainEqual({ loc: ["body", "age"], msg: "age must be a number", type: "domain" });
    expect(detail).toContainEqual({ loc: ["body", "mail"], msg: "mail must be an email address", type: "pattern" });
    const places = detail.map(({ loc }) => loc.slice(1).join("."));
    expect(places.sort()).toEqual(["age", "kind", "mail", "nested.list.0"]);
  });

  it("A custom message that quotes the input is reported without it", async () => {
    const messages = [`${secret} is taken`, `"${secret}" is taken`, `'${secret}'`, `no: ${secret}`];
    for (const message of messages) {
      const schema = z.object({ name: z.string().refine(() => false, message) });
      expect(await refusal(schema, { name: secret })).toEqual([
        { loc: ["body", "name"], msg: "Invalid value", type: "custom" },
      ]);
    }
    const whole = z.object({ user: z.object({ key: z.string() }) }).refine(() => false, `not ${secret}`);
    expect((await refusal(whole, { user: { key: secret } }))[0]?.msg).toBe("Invalid value");
  });

  it("A message that shares a word or a bound with the input is kept", async () => {
    const schema = z.object({ name: z.string().refine(() => false, "is taken"), year: z.number().lt(2024) });
    expect((await refusal(schema, { name: "taken", year: 2024 })).map(({ msg }) => msg)).toEqual([
      "is taken",
      "Too big: expected number to be <2024",
    ]);
  });

  it("Unknown keys are reported one by one, with their places", async () => {
    const schema = z.object({ inner: z.strictObject({ a: z.number() }) });
    expect(await refusal(schema, { inner: { a: 1, titel: 1, yaer: 2 } })).toEqual([
      { loc: ["body", "inner", "titel"], msg: "Unrecognized key", type: "unrecognized_keys" },
      { loc: ["body", "inner", "yaer"], msg: "Unrecognized key", type: "unrecognized_keys" },
    ]);
  });

  it("The number of reported errors is bounded", async () => {
    expect(await refusal(z.array(z.string()), Array(5000).fill(1))).toHaveLength(1000);
    const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, 1]));
    expect(await refusal(z.strictObject({}), keys)).toHaveLength(1000);
  });

  it.each<[string, StandardSchema]>([
    ["zod", z.array(z.string()).max(1000)],
    ["arktype", type("string[] <= 1000")],
    ["valibot", v.pipe(v.array(v.unknown()), v.maxLength(1000), v.array(v.string()))],
  ])("A list of %s that is too long is refused without a look at its items", async (_library, schema) => {
    expect(await refusal(schema, Array(5000).fill(1))).toHaveLength(1);
  });

  it("An error without a code has the type 'value_error'", async () => {
    const schema: StandardSchema = {
      "~standard": { version: 1, vendor: "own", validate: () => ({ issues: [{ message: "no" }] }) },
    };
    expect(await refusal(schema, {})).toEqual([{ loc: ["body"], msg: "no", type: "value_error" }]);
  });
});

describe("text in the query", () => {
  const Page = {
    zod: z.object({ page: z.int(), tags: z.array(z.string()), on: z.boolean() }),
    arktype: type({ page: "number.integer", tags: "string[]", on: "boolean" }),
    valibot: toStandardJsonSchema(
      v.object({ page: v.pipe(v.number(), v.integer()), tags: v.array(v.string()), on: v.boolean() }),
    ),
  };

  it.each(Object.entries(Page))("Text in the query is coerced by a schema of %s", async (_, schema) => {
    const app = new App();
    app.get("/", { query: schema as StandardSchema }, (_request, { query }) => query);
    expect(await (await app.request("/?page=2&tags=a&on=true")).json()).toEqual({ page: 2, tags: ["a"], on: true });
    expect((await app.request("/?page=x&tags=a&on=maybe")).status).toBe(422);
  });

  it("Text in the query stays text for a schema without JSON Schema", async () => {
    const app = new App();
    const query = v.object({ page: v.pipe(v.string(), v.transform(Number)) });
    app.get("/", { query }, (_request, injected) => injected.query);
    expect(await (await app.request("/?page=2")).json()).toEqual({ page: 2 });
  });
});
