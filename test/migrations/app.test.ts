import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { App } from "stoa";
import { migrate } from "stoa/migrations";
import { testClient } from "stoa/testing";
import { expect, it, onTestFinished } from "vitest";
import { sourceUrl } from "../support/source-url.js";

it("An application migrates its database at the start, from the folder beside the program", async () => {
  const folder = await mkdtemp(join(tmpdir(), "stoa-app-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  // What the package exports would be another copy of the sources under test.
  const sources = sourceUrl("entry/migrations.ts");
  await writeFile(
    join(folder, "0001_books.mjs"),
    `import { migration, op } from ${JSON.stringify(sources)};
export default migration({ operations: [op.createTable("books", { columns: { title: { type: "text" } } })] });
`,
  );
  const app = new App();
  app.enableDatabase("pglite:");
  app.onEvent("startup", async () => {
    await migrate(app.database, { directory: pathToFileURL(`${folder}/`) });
  });
  app.get("/books", (request) => request.db.fetch("select * from books"));
  await using client = await testClient(app).start();
  expect(await (await client.get("/books")).json()).toEqual([]);
});
