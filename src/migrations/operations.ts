import { alterColumn } from "./operations/alter-column.js";
import { addColumn, dropColumn, renameColumn } from "./operations/columns.js";
import {
  addCheck,
  addForeignKey,
  addUnique,
  dropConstraint,
  renameConstraint,
  setPrimaryKey,
} from "./operations/constraints.js";
import { addEnumValue, alterEnum, createEnum, dropEnum, renameEnum, renameEnumValue } from "./operations/enums.js";
import { createIndex, dropIndex, renameIndex } from "./operations/indexes.js";
import { run, sql } from "./operations/raw.js";
import { commentTable, createSchema, createTable, dropTable, renameTable } from "./operations/tables.js";
import { createView, dropView } from "./operations/views.js";

/** The operations of migrations. */
export const op = {
  createSchema,
  createTable,
  dropTable,
  renameTable,
  commentTable,
  createView,
  dropView,
  addColumn,
  dropColumn,
  renameColumn,
  alterColumn,
  createIndex,
  dropIndex,
  renameIndex,
  addUnique,
  addForeignKey,
  addCheck,
  dropConstraint,
  renameConstraint,
  setPrimaryKey,
  createEnum,
  dropEnum,
  renameEnum,
  addEnumValue,
  renameEnumValue,
  alterEnum,
  sql,
  run,
};
