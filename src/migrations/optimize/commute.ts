/** Decides if two operations can change places. In doubt they cannot. */

import type { ColumnState, ForeignKeyState, IndexState, TableState } from "../../orm/schema/state.js";
import { baseType } from "../../orm/schema/type-names.js";
import { has } from "../lookup.js";
import type { Operation } from "../operation.js";

/** True if `second`, which follows `first`, can also come before it. */
export function commutes(first: Operation, second: Operation): boolean {
  const [a, b] = [touchedBy(first), touchedBy(second)];
  if (a === "everything" || b === "everything") return false;
  // A later operation can use the value, so it stays behind. The value itself can always be added earlier.
  if (first.source[0] === "addEnumValue") return false;
  if (a.some((one) => b.some((other) => conflict(one, other)))) return false;
  return !(releases(first) && releases(second));
}

/** True if both touch the same table or type: other pairs have nothing to merge. */
export function related(first: Operation, second: Operation): boolean {
  const [a, b] = [touchedBy(first), touchedBy(second)];
  return a !== "everything" && b !== "everything" && a.some((one) => b.some((other) => one.thing === other.thing));
}

/** True if no operation may move past it. */
export function isBarrier(operation: Operation): boolean {
  return touchedBy(operation) === "everything";
}

/** A thing that an operation reads or changes: a type, or a part of a table. */
interface Touched {
  /** `table books`, `type mood`. */
  readonly thing: string;
  /** Of a table: `column title`, all `columns`, its `keys`, its other `parts`; undefined for the whole. */
  readonly part?: string;
  readonly reads?: boolean;
}

function conflict(a: Touched, b: Touched): boolean {
  if (a.thing !== b.thing || (a.reads && b.reads)) return false;
  if (a.part === undefined || b.part === undefined || a.part === b.part) return true;
  const columns = [a, b].some(({ part }) => part === "columns");
  return columns && [a, b].some(({ part }) => part!.startsWith("column "));
}

const known = new WeakMap<Operation, readonly Touched[] | "everything">();

function touchedBy(operation: Operation): readonly Touched[] | "everything" {
  const touched = known.get(operation) ?? findTouched(operation);
  known.set(operation, touched);
  return touched;
}

function findTouched({ source: [name, ...args] }: Operation): readonly Touched[] | "everything" {
  const [first, second, third, fourth] = args;
  const thing = `table ${first}`;
  const column: Touched = { thing, part: `column ${second}` };
  const columns: Touched = { thing, part: "columns", reads: true };
  const parts: Touched = { thing, part: "parts" };
  const keys: Touched = { thing, part: "keys" };
  switch (name) {
    case "createTable":
      return [{ thing }, ...readBy(second as TableState)];
    case "dropTable":
      return [{ thing }];
    case "renameTable":
      return [{ thing }, { thing: `table ${second}` }];
    case "addColumn":
    case "alterColumn": {
      const { type, generated } = third as Partial<ColumnState>;
      return [
        column,
        ...(generated !== undefined || fourth !== undefined ? [columns] : []),
        ...(name === "alterColumn" && type !== undefined ? [parts] : []),
        ...(type === undefined ? [] : [{ thing: typeThing(type), reads: true }]),
      ];
    }
    case "dropColumn":
      return [column, parts];
    case "renameColumn":
      return [column, { thing, part: `column ${third}` }, parts];
    case "createIndex":
      return (third as IndexState).unique ? [keys, parts, columns] : [parts, columns];
    case "addCheck":
      return [parts, columns];
    case "addUnique":
    case "setPrimaryKey":
      return [keys, parts, columns];
    case "addForeignKey":
      return [parts, columns, ...readByKey(third as ForeignKeyState)];
    case "dropIndex":
    case "renameIndex":
    case "dropConstraint":
    case "renameConstraint":
    case "commentTable":
      return [parts];
    case "createEnum":
    case "dropEnum":
      return [{ thing: typeThing(first as string) }];
    case "addEnumValue":
      return [{ thing: typeThing(first as string), reads: true }];
    case "createSchema":
      return [{ thing: `schema ${first}` }];
    // Other changes to enums are about the defaults and expressions of any table; what SQL and functions do is not known.
    default:
      return "everything";
  }
}

function readBy({ columns, foreignKeys = {} }: TableState): Touched[] {
  return [
    ...Object.values(columns).map(({ type }) => ({ thing: typeThing(type), reads: true })),
    ...Object.values(foreignKeys).flatMap(readByKey),
  ];
}

function readByKey({ table, references }: ForeignKeyState): Touched[] {
  const thing = `table ${table}`;
  return ["keys", ...references.map((column) => `column ${column}`)].map((part) => ({ thing, part, reads: true }));
}

function typeThing(type: string): string {
  return `type ${baseType(type).replaceAll('"', "")}`;
}

/**
 * True if the operation removes something. It may have to wait until another has removed what needed that: a foreign
 * key is dropped before the table it leads to.
 */
function releases({ source: [name, , , changes] }: Operation): boolean {
  if (name === "alterColumn") return has(changes as object as Record<string, unknown>, "type");
  return name.startsWith("drop") || name === "setPrimaryKey";
}
