import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { ValueError } from "stoa";
import { defineSettings } from "stoa/settings";
import * as v from "valibot";
import { expect, expectTypeOf, it, onTestFinished } from "vitest";
import { z } from "zod";
import { settingSources } from "../../src/validation/settings.js";

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-settings-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(ValueError);
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

const Settings = z.object({
  DATABASE_URL: z.url(),
  MAIL_LIMIT: z.int().default(100),
  DEBUG_SQL: z.boolean().optional(),
  ORIGINS: z.array(z.string()).default([]),
});

it("Settings are typed values of the environment, converted by the schema", () => {
  const env = { DATABASE_URL: "postgres://h/d", MAIL_LIMIT: "5", DEBUG_SQL: "true", ORIGINS: "a,b", OTHER: "x" };
  const settings = defineSettings(Settings, { env, folder: "/nonexistent" });
  expectTypeOf(settings.MAIL_LIMIT).toEqualTypeOf<number>();
  expectTypeOf(settings.DEBUG_SQL).toEqualTypeOf<boolean | undefined>();
  expect({ ...settings }).toEqual({
    DATABASE_URL: "postgres://h/d",
    MAIL_LIMIT: 5,
    DEBUG_SQL: true,
    ORIGINS: ["a", "b"],
  });
  expect(() => Object.assign(settings, { MAIL_LIMIT: 6 })).toThrow(TypeError);
});

it("The environment wins over files, and files of the environment win over those of all", async () => {
  const folder = await folderWith({
    ".env": "A=all\nB=all\nC=all\nD=all\nE=all",
    ".env.local": "B=local\nC=local\nD=local\nE=local",
    ".env.production": 'C="production # kept"\nD=production\nE=production',
    ".env.production.local": "D=own\nE=own",
    ".env.test": "A=test",
  });
  const schema = z.strictObject({ A: z.string(), B: z.string(), C: z.string(), D: z.string(), E: z.string() });
  const read = (env: Record<string, string>) => ({ ...defineSettings(schema, { folder, env }) });
  expect(read({ STOA_ENV: "production", E: "environment" })).toEqual({
    A: "all",
    B: "local",
    C: "production # kept",
    D: "own",
    E: "environment",
  });
  expect(read({ NODE_ENV: "test" })).toEqual({ A: "test", B: "all", C: "all", D: "all", E: "all" });
  expect(read({})).toMatchObject({ C: "local" });
  expect(settingSources()).toContainEqual({ name: "D", from: ".env.production.local" });
});

it("All missing and wrong settings are in one message, without their values", async () => {
  const folder = await folderWith({ ".env": "DATABSE_URL=postgres://secret@h/d\nMAIL_LIMIT=sec-ret\nDEBUG_SQL=" });
  const message = messageOf(() => defineSettings(Settings, { folder, env: { ORIGINS: "" } }));
  expect(message).toBe(
    [
      "settings are missing or wrong (looked in the environment and .env):",
      "  DATABASE_URL: not set; did you mean 'DATABSE_URL'?",
      "  MAIL_LIMIT: Invalid input: expected number, received string",
    ].join("\n"),
  );
  expect(messageOf(() => defineSettings(Settings, { folder: "/nonexistent", env: { DATABASE_ULR: "x" } }))).toContain(
    "DATABASE_URL: not set; did you mean 'DATABASE_ULR'?",
  );
  expect(messageOf(() => defineSettings(Settings, { folder: "/nonexistent", env: {} }))).toContain(
    "(looked in the environment; there is no .env file in /nonexistent):",
  );
});

it("Printed settings show their names alone", () => {
  const settings = defineSettings(z.object({ KEY: z.string() }), { env: { KEY: "geheim" }, folder: "/nonexistent" });
  expect(settings.KEY).toBe("geheim");
  const printed = `${inspect({ settings })} ${JSON.stringify(settings)}`;
  expect(printed).toContain("KEY");
  expect(printed).not.toContain("geheim");
});

it("Settings by a library without JSON Schema take the environment as it is", () => {
  const schema = v.object({ KEY: v.pipe(v.string(), v.transform(Number)) });
  expect(defineSettings(schema, { env: { KEY: "7", OTHER: "x" }, folder: "/nonexistent" }).KEY).toBe(7);
});

it("What is no schema, waits or is no option of settings is refused", async () => {
  expect(() => defineSettings({} as never)).toThrow("defineSettings() takes a schema");
  const waiting = z.object({ A: z.string().refine(async () => true) });
  const env = { A: "x" };
  expect(() => defineSettings(waiting, { env })).toThrow();
  expect(() => defineSettings(Settings, { foldr: "." } as never)).toThrow("did you mean 'folder'?");
  const folder = await folderWith({});
  expect(() => defineSettings(Settings, { folder: join(folder, "a\0b"), env })).toThrow("cannot be read");
});
