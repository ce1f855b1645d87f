import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

it("The ORM imports nothing of the layers above it", () => {
  expect(importsOf("orm", ["migrations", "introspection", "apis", "patterns", "cli", "testing", "app"])).toEqual([]);
});

it("The database engine does not import the ORM", () => {
  expect(importsOf("engines/db", ["orm", "migrations", "introspection"])).toEqual([]);
});

/** The imports of files in a folder that lead into one of the other folders, types counted. */
function importsOf(folder: string, others: readonly string[]): string[] {
  const files = readdirSync(join(src, folder), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  return files.flatMap((name) => {
    const file = join(src, folder, name);
    return ts
      .preProcessFile(readFileSync(file, "utf8"), true, true)
      .importedFiles.map(({ fileName }) => relative(src, join(file, "..", fileName)))
      .filter((path) => others.some((other) => path.startsWith(`${other}/`)))
      .map((path) => `${folder}/${name} imports ${path}`);
  });
}
