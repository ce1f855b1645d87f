import { isDeepStrictEqual } from "node:util";
import {
  changeColumns,
  dropColumns,
  dropComputedColumns,
  dropPrimaryKeys,
  setPrimaryKeys,
} from "./autodetector/columns.js";
import { changeEnums, createEnums, dropEnums } from "./autodetector/enums.js";
import { addForeignKeys, dropForeignKeys } from "./autodetector/foreign-keys.js";
import { journalFrom } from "./autodetector/journal.js";
import { addParts, dropParts } from "./autodetector/parts.js";
import { type Answers, asker, type Question } from "./autodetector/questions.js";
import { renameColumns, renameEnums, renameEnumValues, renameParts, renameTables } from "./autodetector/renames.js";
import { createTables, dropTables } from "./autodetector/tables.js";
import { MigrationError } from "./errors.js";
import { own } from "./lookup.js";
import type { Operation } from "./operation.js";
import type { SchemaState } from "./state.js";
import type { DesiredSchema } from "./state-of-models.js";
import { tidyState } from "./tidy.js";

export type { Answers, Question, QuestionSubject } from "./autodetector/questions.js";

export interface DetectedChanges {
  /** In an order in which they run. */
  readonly operations: readonly Operation[];
  /**
   * What a person should say. An answer may make others needless or lead to new ones: ask the first, then detect again.
   * A question without an answer counts as no.
   */
  readonly questions: readonly Question[];
}

/** The operations that lead from one state to another. */
export function detectChanges(
  from: SchemaState,
  desired: DesiredSchema,
  answers: Answers = new Map(),
): DetectedChanges {
  const to = tidyState(desired.state);
  const journal = journalFrom(tidyState(from));
  const ask = asker(answers);
  renameEnums(journal, to, ask);
  renameEnumValues(journal, to, ask);
  renameTables(journal, { ...desired, state: to }, ask);
  renameColumns(journal, { ...desired, state: to }, ask);
  renameParts(journal, to);
  dropForeignKeys(journal, to);
  dropParts(journal, to);
  dropComputedColumns(journal, to);
  changeEnums(journal, to, ask);
  createEnums(journal, to);
  dropPrimaryKeys(journal, to);
  changeColumns(journal, to, ask);
  setPrimaryKeys(journal, to);
  addParts(journal, to);
  createTables(journal, to);
  addForeignKeys(journal, to);
  dropColumns(journal, to);
  dropTables(journal, to);
  dropEnums(journal, to);
  checkReached(journal.state, to);
  return { operations: journal.operations, questions: ask.questions };
}

/** A migration that does not lead to the models would be found out much later, in a database. */
function checkReached(reached: SchemaState, wanted: SchemaState): void {
  if (isDeepStrictEqual(reached, wanted)) return;
  const names = new Set([...Object.keys(reached.tables), ...Object.keys(wanted.tables)]);
  const different = [...names].filter(
    (name) => !isDeepStrictEqual(own(reached.tables, name), own(wanted.tables, name)),
  );
  throw new MigrationError(`no operations were found that lead to the models' ${different.join(", ") || "enums"}`);
}
