import {
  type ColumnState,
  emptyState,
  type ForeignKeyState,
  type IndexState,
  type UniqueState,
} from "../../orm/schema/state.js";
import type { Operation } from "../operation.js";
import type { AlterOptions } from "../operations/alter-column.js";
import type { FillOptions } from "../operations/columns.js";
import type { ColumnChanges } from "../operations/read.js";
import { op } from "../operations.js";

/** The operations that replace two adjacent ones; undefined if the two cannot be merged. */
export function merge(first: Operation, second: Operation): readonly Operation[] | undefined {
  return (
    mergeTables(first, second) ?? mergeEnums(first, second) ?? mergeParts(first, second) ?? mergeColumns(first, second)
  );
}

/** A new table includes the changes that follow; a dropped table makes the changes before it unnecessary. */
function mergeTables(first: Operation, second: Operation): readonly Operation[] | undefined {
  const [name, table, to] = first.source as [string, string, string];
  const [next, other] = second.source as [string, string];
  if (!isAboutTable(name) || !isAboutTable(next) || (name === "renameTable" ? to : table) !== other) return undefined;
  if (name === "createTable") {
    if (next === "dropTable") return [];
    const { tables } = second.apply(first.apply(emptyState));
    return Object.entries(tables).map(([each, state]) => op.createTable(each, state));
  }
  if (name === "dropTable") return undefined;
  if (next === "dropTable") return [op.dropTable(table)];
  if (name === "renameTable" && next === "renameTable") {
    const last = second.source[2] as string;
    return table === last ? [] : [op.renameTable(table, last)];
  }
  return name === next && (name === "commentTable" || name === "setPrimaryKey") ? [second] : undefined;
}

function mergeEnums(first: Operation, second: Operation): readonly Operation[] | undefined {
  const [name, type, to] = first.source as [string, string, string];
  const [next, other] = second.source as [string, string];
  if (name === "createSchema" && next === "createSchema" && type === other) return [first];
  if (!name.includes("Enum") || !next.includes("Enum") || (name === "renameEnum" ? to : type) !== other)
    return undefined;
  if (name === "createEnum") {
    if (next === "dropEnum") return [];
    const { enums } = second.apply(first.apply(emptyState));
    return Object.entries(enums).map(([each, values]) => op.createEnum(each, values));
  }
  if (name === "renameEnum" && next === "renameEnum") {
    const last = second.source[2] as string;
    return type === last ? [] : [op.renameEnum(type, last)];
  }
  return undefined;
}

/** Indexes and constraints. */
function mergeParts(first: Operation, second: Operation): readonly Operation[] | undefined {
  const [name, table, part, third, options] = first.source as [string, string, string, unknown, object?];
  const [next, other, otherPart, last] = second.source as [string, string, string, string];
  const kind = /Index$/.test(name) ? "Index" : "Constraint";
  const now = name.startsWith("rename") ? third : part;
  if (table !== other || now !== otherPart || (next !== `drop${kind}` && next !== `rename${kind}`)) return undefined;
  const drops = next.startsWith("drop");
  switch (name) {
    case "createIndex":
      return drops ? [] : [op.createIndex(table, last, third as IndexState, options)];
    case "addUnique":
      return drops ? [] : [op.addUnique(table, last, third as UniqueState)];
    case "addForeignKey":
      return drops ? [] : [op.addForeignKey(table, last, third as ForeignKeyState)];
    case "addCheck":
      return drops ? [] : [op.addCheck(table, last, third as string)];
    case "renameIndex":
      if (drops) return [op.dropIndex(table, part, second.source[3] as object)];
      return part === last ? [] : [op.renameIndex(table, part, last)];
    case "renameConstraint":
      if (drops) return [op.dropConstraint(table, part)];
      return part === last ? [] : [op.renameConstraint(table, part, last)];
    default:
      return undefined;
  }
}

function mergeColumns(first: Operation, second: Operation): readonly Operation[] | undefined {
  const [name, table, column, third] = first.source as [string, string, string, unknown];
  const [next, other, otherColumn, last] = second.source as [string, string, string, unknown];
  if (table !== other || (name === "renameColumn" ? third : column) !== otherColumn) return undefined;
  switch (`${name} ${next}`) {
    case "addColumn dropColumn":
      return [];
    case "addColumn renameColumn":
      return [op.addColumn(table, last as string, third as ColumnState, first.source[4] as FillOptions)];
    case "addColumn alterColumn":
      return addAltered(first, second);
    case "alterColumn alterColumn":
      return alterTwice(first, second);
    case "alterColumn dropColumn":
      return [second];
    case "renameColumn dropColumn":
      return [op.dropColumn(table, column, last as FillOptions)];
    case "renameColumn renameColumn":
      return column === last ? [] : [op.renameColumn(table, column, last as string)];
    default:
      return undefined;
  }
}

/** Existing rows get the value of the new column once: two ways to make the value are not merged. */
function addAltered(first: Operation, second: Operation): readonly Operation[] | undefined {
  const [, table, column, state, options] = first.source as [string, string, string, ColumnState, FillOptions?];
  const changes = second.source[3] as ColumnChanges;
  const { fill } = (second.source[4] ?? {}) as AlterOptions;
  const valued = options !== undefined || state.default !== undefined || state.generated !== undefined;
  if (valued && (changes.type !== undefined || changes.default !== undefined || fill !== undefined)) return undefined;
  if (changes.generated !== undefined || changes.default !== undefined) return undefined;
  const scratch = op.createTable(table, { columns: { [column]: state } });
  const altered = second.apply(scratch.apply(emptyState)).tables[table]!.columns[column]!;
  return [op.addColumn(table, column, altered, fill === undefined ? options : { fill })];
}

function alterTwice(first: Operation, second: Operation): readonly Operation[] | undefined {
  const [, table, column, changes, options] = first.source as [string, string, string, ColumnChanges, AlterOptions?];
  const [, , , later, laterOptions] = second.source as [string, string, string, ColumnChanges, AlterOptions?];
  const both = (key: keyof ColumnChanges): boolean => changes[key] !== undefined && later[key] !== undefined;
  if (both("type") || both("nullable") || both("identity") || both("generated")) return undefined;
  // The order in which PostgreSQL is told the parts of one change is fixed: it may not be that of the two.
  if (options !== undefined || laterOptions !== undefined) return undefined;
  return [op.alterColumn(table, column, { ...changes, ...later })];
}

function isAboutTable(name: string): boolean {
  return !/Enum|View/.test(name) && !["createSchema", "sql", "run"].includes(name);
}
