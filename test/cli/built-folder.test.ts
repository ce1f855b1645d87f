import { readdir } from "node:fs/promises";
import ts from "typescript";
import { expect, it } from "vitest";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { Project } from "./project.js";

const embeddedUrl = "pglite:./data";
const empty = emptyDatabases(service("postgres"), embeddedUrl);

const sources = {
  "stoa.config": `import { defineConfig } from "stoa/migrations";
export default defineConfig({
  app: "./src/app.ts",
  models: "./src/models.ts",
  seed: "./src/seed.ts",
  database: process.env.DATABASE_URL,
});`,
  "src/app": `import { App } from "stoa";
export const app: App = new App();
app.get("/books", () => []);`,
  "src/models": `import { field, Model } from "stoa/orm";
export class Book extends Model("books", { id: field.auto(), title: field.char({ maxLength: 200 }) }) {}`,
  "src/seed": `import { Book } from "./models.js";
export default async (): Promise<void> => {
  await Book.objects.create({ title: "Emma" });
};`,
  "migrations/0001_initial": `import { migration, op } from "stoa/migrations";
export default migration({
  operations: [
    op.createTable("books", {
      columns: { id: { type: "integer", identity: true }, title: { type: "varchar(200)" } },
      primaryKey: ["id"],
    }),
  ],
});`,
};

it("An image with the compiled files alone migrates, seeds and lists routes without a loader of TypeScript", async () => {
  const project = await Project.create({}, ["@electric-sql"]);
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  for (const [name, text] of Object.entries(sources)) {
    await project.write(`dist/${name}.js`, ts.transpileModule(text, { compilerOptions }).outputText);
  }
  const env = { DATABASE_URL: await empty() };
  const stoa = async (...args: string[]): Promise<string> => {
    const run = await project.stoa(args, env);
    expect(run).toMatchObject({ code: 0 });
    return run.stdout;
  };
  expect(await stoa("migrate", "up")).toContain("applied 0001_initial");
  expect(await stoa("migrate", "up")).toContain("all migrations are applied");
  expect(await stoa("migrate", "make", "--check")).toContain("the migrations lead to the models");
  expect(await stoa("db", "seed")).toContain("seeded by dist/src/seed.js");
  expect(await stoa("routes")).toContain("/books");
  // Data is where the program has it, which takes the same address from the environment.
  const data = env.DATABASE_URL === embeddedUrl ? ["data"] : [];
  expect((await readdir(project.folder)).sort()).toEqual([...data, "dist", "node_modules", "package.json"]);
});

it("Sources in the folder win over what was compiled from them", async () => {
  const project = await Project.create({
    "dist/stoa.config.js": 'export default { database: "pglite:", migrations: "old" };',
    "stoa.config.ts": 'export default { database: "pglite:", migrations: "nowhere" };',
  });
  expect((await project.stoa(["migrate", "up"])).stderr).toMatch(/the folder of migrations .*nowhere is not there/);
});
