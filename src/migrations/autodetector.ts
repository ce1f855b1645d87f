import { isDeepStrictEqual } from "node:util";
import type { SchemaState } from "../orm/schema/state.js";
import type { DesiredSchema } from "../orm/schema/state-of-models.js";
import { tidyState } from "../orm/schema/tidy.js";
import {
  changeColumns,
  dropColumns,
  dropComputedColumns,
  dropPrimaryKeys,
  setPrimaryKeys,
} from "./autodetector/columns.js";
import { changeEnums, createEnums, dropEnums } from "./autodetector/enums.js";
import { addForeignKeys, dropForeignKeys } from "./autodetector/foreign-keys.js";
import { type Journal, journalFrom } from "./autodetector/journal.js";
import { addParts, dropParts } from "./autodetector/parts.js";
import { type Answers, type Asker, asker, type Question } from "./autodetector/questions.js";
import { renameColumns, renameEnums, renameEnumValues, renameParts, renameTables } from "./autodetector/renames.js";
import { createTables, dropTables } from "./autodetector/tables.js";
import { createViews, dropViews } from "./autodetector/views.js";
import { MigrationError } from "./errors.js";
import { own } from "./lookup.js";
import type { Operation } from "./operation.js";

export type { Answers, Question, QuestionSubject } from "./autodetector/questions.js";

export interface DetectedChanges {
  /** The operations in the order in which they run. */
  readonly operations: readonly Operation[];
  /**
   * Questions for a person. Each answer can remove questions or add new ones: ask the first, then detect again. A question
   * without an answer counts as no.
   */
  readonly questions: readonly Question[];
}

/** Adds operations to the journal until one aspect of its state is that of the models. */
type Pass = (journal: Journal, desired: DesiredSchema, ask: Asker) => void;

/** A pass that needs only the state of the models. */
const toState =
  (pass: (journal: Journal, to: SchemaState, ask: Asker) => void): Pass =>
  (journal, { state }, ask) =>
    pass(journal, state, ask);

/** The passes in the order in which they run. Each position has its reason. */
const passes: readonly Pass[] = [
  // Views hold the columns and tables that they read in place.
  toState(dropViews),
  // Renames come first: every later pass compares by name, and a name must mean the same on both sides.
  toState(renameEnums),
  // By the name of the enum: after the enums.
  toState(renameEnumValues),
  renameTables,
  // By the name of the table: after the tables.
  renameColumns,
  // Constraints and indexes are compared with their columns: after the columns.
  toState(renameParts),
  // Foreign keys depend on unique constraints, on keys and on types: they are dropped before any of these change.
  toState(dropForeignKeys),
  // Checks and indexes hold columns and types in place: dropped before columns and enums change.
  toState(dropParts),
  // Computed columns hold the columns that they are computed from in place.
  toState(dropComputedColumns),
  // Columns of a changed enum are converted with it: before the columns change to other types.
  toState(changeEnums),
  // New columns may be of a new enum.
  toState(createEnums),
  // A column of the primary key cannot become nullable.
  toState(dropPrimaryKeys),
  toState(changeColumns),
  // The columns of the key must be there and not nullable: after the columns.
  toState(setPrimaryKeys),
  // Constraints and indexes need their columns. Foreign keys of new tables may need these constraints.
  toState(addParts),
  // New tables refer to tables that have reached their new columns and keys.
  toState(createTables),
  // All tables exist, and so does all that a foreign key refers to.
  toState(addForeignKeys),
  // Data is dropped last, when nothing refers to it: columns, then tables, then the enums of both.
  toState(dropColumns),
  toState(dropTables),
  toState(dropEnums),
  // All that they read has its new form; `select *` must not read columns that are dropped.
  toState(createViews),
];

/** The operations that lead from one state to another. */
export function detectChanges(
  from: SchemaState,
  desired: DesiredSchema,
  answers: Answers = new Map(),
): DetectedChanges {
  const wanted: DesiredSchema = { ...desired, state: tidyState(desired.state) };
  const journal = journalFrom(tidyState(from));
  const ask = asker(answers);
  for (const pass of passes) pass(journal, wanted, ask);
  checkReached(journal.state, wanted.state);
  return { operations: journal.operations, questions: ask.questions };
}

/** Throws if the operations do not lead to the models. Otherwise the fault would appear much later, in a database. */
function checkReached(reached: SchemaState, wanted: SchemaState): void {
  if (isDeepStrictEqual(reached, wanted)) return;
  const names = new Set([...Object.keys(reached.tables), ...Object.keys(wanted.tables)]);
  const different = [...names].filter(
    (name) => !isDeepStrictEqual(own(reached.tables, name), own(wanted.tables, name)),
  );
  throw new MigrationError(`no operations were found that lead to the models' ${different.join(", ") || "enums"}`);
}
