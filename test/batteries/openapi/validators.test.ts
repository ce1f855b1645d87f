import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { validate } from "@readme/openapi-parser";
import { Validator } from "@seriousme/openapi-schema-validator";
import type { App, OpenApiDocument } from "stoa";
import { serve } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { booksApp } from "../../../examples/books/app.js";
import { shopApp } from "../../../examples/openapi/app.js";

const redocly = join(import.meta.dirname, "../../../node_modules/@redocly/cli/bin/cli.js");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-openapi-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const applications: [name: string, make: () => App][] = [
  ["books", booksApp],
  ["shop", shopApp],
];

describe.each(applications)("the document of the %s", (name, make) => {
  let document: OpenApiDocument;
  beforeAll(async () => {
    await using server = await serve(make());
    document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApiDocument;
  });

  it("The document is accepted by @seriousme/openapi-schema-validator", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it("The document is accepted by @readme/openapi-parser", async () => {
    expect(await validate(structuredClone(document) as never)).toMatchObject({ valid: true, warnings: [] });
  });

  it("The document is accepted by Redocly's recommended rules", { timeout: 60_000 }, async () => {
    const file = join(folder, `${name}.json`);
    await writeFile(file, JSON.stringify(document));
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const args = [redocly, "lint", file, "--extends=recommended", "--format=json"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
    const { totals, problems } = JSON.parse(stdout) as { totals: { errors: number }; problems: { ruleId: string }[] };
    expect(totals.errors).toBe(0);
    // What these examples leave out on purpose; a component that is never used would be our mistake.
    const tolerated = ["info-license", "tag-description"];
    expect(problems.filter(({ ruleId }) => !tolerated.includes(ruleId))).toEqual([]);
  });
});

describe("the validators", () => {
  it("The validators refuse an invalid document", async () => {
    const broken = { openapi: "3.1.0", info: { title: "x" }, paths: { "/a": { get: { responses: 5 } } } };
    expect((await new Validator().validate(structuredClone(broken))).valid).toBe(false);
    expect(await validate(structuredClone(broken) as never)).toMatchObject({ valid: false });
  });
});
