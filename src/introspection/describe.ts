/** Short descriptions of constraints and indexes, for people. Equal descriptions mean equal constraints or indexes. */

import { partOf } from "../orm/schema/names.js";
import type { ForeignKeyState, IndexPart, IndexState, UniqueState } from "../orm/schema/state.js";
import { legible, shown } from "./names.js";

export function describeKey(columns: readonly string[]): string {
  return `(${columns.map(shown).join(", ")})`;
}

export function describeUnique({ columns, nullsNotDistinct }: UniqueState): string {
  return `${describeKey(columns)}${nullsNotDistinct ? " nulls not distinct" : ""}`;
}

export function describeForeignKey(key: ForeignKeyState): string {
  return [
    `${describeKey(key.columns)} references ${shown(key.table)} ${describeKey(key.references)}`,
    ...(key.matchFull ? ["match full"] : []),
    ...(key.onDelete === undefined ? [] : [`on delete ${key.onDelete}`]),
    ...(key.onDeleteColumns === undefined ? [] : [describeKey(key.onDeleteColumns)]),
    ...(key.onUpdate === undefined ? [] : [`on update ${key.onUpdate}`]),
    ...(key.deferred ? ["deferred"] : []),
  ].join(" ");
}

export function describeIndex(index: IndexState): string {
  return [
    ...(index.unique ? ["unique"] : []),
    ...(index.method === undefined ? [] : [index.method]),
    `(${index.on.map((part) => describePart(partOf(part))).join(", ")})`,
    ...(index.nullsNotDistinct ? ["nulls not distinct"] : []),
    ...(index.include === undefined ? [] : [`include ${describeKey(index.include)}`]),
    ...(index.where === undefined ? [] : [`where ${legible(index.where)}`]),
  ].join(" ");
}

function describePart(part: IndexPart): string {
  return [
    part.column === undefined ? legible(part.expression ?? "") : shown(part.column),
    ...(part.operatorClass === undefined ? [] : [legible(part.operatorClass)]),
    ...(part.descending ? ["desc"] : []),
    ...(part.nulls === undefined ? [] : [`nulls ${part.nulls}`]),
  ].join(" ");
}
