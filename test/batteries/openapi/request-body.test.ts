import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { operationOf } from "./document-of.js";

describe("bodies", () => {
  it("are JSON, required unless the schema takes their absence", async () => {
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

  it("of forms are multipart, and url-encoded where there is no file", async () => {
    const plain = await operationOf((app) => app.post("/", { form: z.object({ a: z.string() }) }, () => ""));
    expect(Object.keys(plain.requestBody.content)).toEqual([
      "multipart/form-data",
      "application/x-www-form-urlencoded",
    ]);
    const files = await operationOf((app) => app.post("/", { form: z.object({ a: z.array(z.file()) }) }, () => ""));
    expect(Object.keys(files.requestBody.content)).toEqual(["multipart/form-data"]);
  });

  it("without a JSON Schema allow anything", async () => {
    const found = await operationOf((app) => app.post("/", { body: v.object({ a: v.number() }) }, () => ""));
    expect(found.requestBody.content["application/json"]).toEqual({ schema: {} });
  });
});
