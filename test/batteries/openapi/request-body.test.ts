import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { operationOf } from "./document-of.js";

describe("bodies", () => {
  it("A documented body is JSON, and required unless the schema accepts its absence", async () => {
    const required = await operationOf((app) => app.post("/", { body: z.object({ a: z.number() }) }, () => ""));
    expect(required.requestBody).toEqual({
      required: true,
      content: {
        "application/json": { schema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] } },
      },
    });
    const optional = await operationOf((app) => app.post("/", { body: z.object({}).optional() }, () => ""));
    expect(optional.requestBody.required).toBe(false);
  });

  it("A documented form is multipart, and url-encoded if it has no file", async () => {
    const plain = await operationOf((app) => app.post("/", { form: z.object({ a: z.string() }) }, () => ""));
    expect(Object.keys(plain.requestBody.content)).toEqual([
      "multipart/form-data",
      "application/x-www-form-urlencoded",
    ]);
    const files = await operationOf((app) => app.post("/", { form: z.object({ a: z.array(z.file()) }) }, () => ""));
    expect(Object.keys(files.requestBody.content)).toEqual(["multipart/form-data"]);
  });

  it("A documented body without a JSON Schema allows anything", async () => {
    const found = await operationOf((app) => app.post("/", { body: v.object({ a: v.number() }) }, () => ""));
    expect(found.requestBody.content["application/json"]).toEqual({ schema: {} });
  });
});
