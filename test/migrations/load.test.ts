import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { op } from "stoa/migrations";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MigrationError } from "../../src/migrations/errors.js";
import { checksumOf } from "../../src/migrations/files/checksum.js";
import { loadMigrations, readMigration } from "../../src/migrations/files/load.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-load-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
const empty = "export default { operations: [] };";

describe("reading a folder", () => {
  it("Each file is loaded as the migration of its name, in order", async () => {
    await write("0002_second.js", 'export default { dependsOn: ["0001_first"], transaction: false, operations: [] };');
    await write("0001_first.mjs", empty);
    const [first, second] = await loadMigrations(pathToFileURL(`${folder}/`));
    expect(first).toMatchObject({ name: "0001_first", dependsOn: [], replaces: [], transaction: true, operations: [] });
    expect(second).toMatchObject({ name: "0002_second", dependsOn: ["0001_first"], transaction: false });
    expect(second!.file).toBe(join(folder, "0002_second.js"));
  });

  it("Files whose names are not those of migrations are skipped", async () => {
    for (const name of ["_helpers.mjs", ".hidden.mjs", "0001_first.d.ts", "notes.md", "0001_first.mjs.map"]) {
      await write(name, "throw new Error('read');");
    }
    await mkdir(join(folder, "0003_folder.js"));
    expect(await loadMigrations(folder)).toEqual([]);
  });

  it("A file without a default export is refused with an error that shows one", async () => {
    await write("0001_first.mjs", "export const operations = [];");
    await expect(loadMigrations(folder)).rejects.toThrow(
      `${join(folder, "0001_first.mjs")} has no default export: \`export default migration({ ... })\`; the name of a file that is no migration begins with _`,
    );
  });

  it("Two files of the same name are refused", async () => {
    await write("0001_first.js", empty);
    await write("0001_first.mjs", empty);
    await expect(loadMigrations(folder)).rejects.toThrow("0001_first.mjs have the same name: keep one of them");
  });

  it("A missing folder is reported with the command that makes it", async () => {
    const missing = join(folder, "nowhere");
    await expect(loadMigrations(missing)).rejects.toThrow(
      new MigrationError(
        `the folder of migrations ${missing} is not there; \`stoa migrate make\` makes it with the first migration`,
      ),
    );
  });

  it("A file that fails to load is named, and its error is kept", async () => {
    await write("0001_first.mjs", "throw new RangeError('my own fault');");
    const error = await loadMigrations(folder).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: `${join(folder, "0001_first.mjs")} cannot be loaded: RangeError: my own fault`,
      cause: new RangeError("my own fault"),
    });
  });
});

describe("the definition of a migration", () => {
  it.each([
    [null, "migration 1 must be an object of options, not null"],
    [
      "text",
      'migration 1 takes an object of options, not "text"; its options are dependsOn, replaces, transaction, assured, operations',
    ],
    [{}, "option 'operations' is required in migration 1"],
    [{ operations: [], dependOn: [] }, "unknown option 'dependOn' in migration 1; did you mean 'dependsOn'?"],
    [{ operations: [], dependsOn: "0" }, `option 'dependsOn' in migration 1 must be a list of strings, not "0"`],
    [
      { operations: ["drop table"] },
      `option 'operations' in migration 1 must be a list of operations, each made by a call of \`op\`: "drop table" is none, not ["drop table"]`,
    ],
    [{ operations: [], dependsOn: ["1"] }, "1 depends on itself"],
    [{ operations: [], replaces: ["1"] }, "1 replaces itself"],
  ])("An invalid migration is refused: %j", (given, message) => {
    expect(() => readMigration("1", given)).toThrow(new MigrationError(message));
  });
});

describe("the checksum", () => {
  const column = { type: "integer", nullable: true };

  it("The checksum changes with the content of the operations", () => {
    const sums = [
      [op.addColumn("books", "year", column)],
      [op.addColumn("books", "year", { type: "bigint", nullable: true })],
      [op.addColumn("books", "pages", column)],
      [op.sql("select 1")],
      [op.sql("select 2")],
      [op.sql("select 1", "select 2")],
      [op.sql("select 1", undefined, { state: [op.addColumn("books", "year", column)] })],
      [op.run(() => {})],
      [],
    ].map(checksumOf);
    expect(new Set(sums).size).toBe(sums.length);
    expect(checksumOf([op.addColumn("books", "year", { ...column })])).toBe(sums[0]);
  });

  it("The checksum of known operations never changes, because databases contain it", () => {
    expect(checksumOf([op.sql("select 1", "select 2")])).toBe("23c9808acf147e69c45a3659746fcc4c");
    const table = {
      columns: { id: { type: "integer", identity: true }, title: { type: "varchar(200)" }, year: column },
      primaryKey: ["id"],
      unique: { books_title_key: { columns: ["title"] } },
      checks: { books_check: "year > 0" },
    };
    const index = { on: ["year", { column: "title", descending: true }], where: "year > 1900" };
    expect(checksumOf([op.createTable("books", table), op.createIndex("books", "books_year_idx", index)])).toBe(
      "c543029a9332c4fd18939c5b1d3a7bea",
    );
  });

  it("The checksum does not change with the text of a function, which differs by compiler", () => {
    expect(checksumOf([op.run(async (db) => void (await db.execute("select 1")))])).toBe(
      checksumOf([op.run(() => {})]),
    );
  });
});
