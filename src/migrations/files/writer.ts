import type { MigrationDefinition } from "../operation.js";
import { type CodeOf, sourceText } from "./source-text.js";

/** `transaction: false` is written automatically if an operation needs it. */
export interface WrittenMigration extends Omit<MigrationDefinition, "assured"> {
  /** In JavaScript, the first line tells the editor to check the types. */
  readonly language?: "ts" | "js";
  /** Code for operations that hold functions, which cannot be written as data. */
  readonly codeOf?: CodeOf;
  /** Further imports, a statement each, that the code needs. */
  readonly imports?: readonly string[];
}

/** The source of a migration file. */
export function writeMigration(migration: WrittenMigration): string {
  const {
    dependsOn = [],
    replaces = [],
    operations,
    language = "ts",
    imports = [],
    codeOf = () => undefined,
  } = migration;
  const transaction = migration.transaction !== false && operations.every((operation) => operation.transactional);
  const list = (key: string, values: readonly unknown[]): string =>
    `  ${key}: ${sourceText(values, { indent: 2, lead: 4 + key.length, trail: 1 }, codeOf)},\n`;
  return [
    language === "js" ? "// @ts-check\n" : "",
    `import { migration${operations.length > 0 ? ", op" : ""} } from "stoa/migrations";\n`,
    ...imports.map((line) => `${line}\n`),
    "\nexport default migration({\n",
    dependsOn.length > 0 ? list("dependsOn", dependsOn) : "",
    replaces.length > 0 ? list("replaces", replaces) : "",
    transaction ? "" : "  transaction: false,\n",
    list("operations", operations),
    "});\n",
  ].join("");
}
