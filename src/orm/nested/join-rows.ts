import type { Queries } from "../../engines/db/database.js";
import { arrayTypeOf } from "../compile/array-types.js";
import { encodeColumn } from "../compile/write.js";
import { FieldError } from "../errors.js";
import { array } from "../fields/encode.js";
import { quote } from "../identifiers.js";
import type { RelationMeta } from "../meta.js";
import { bulkUpdate } from "../run/bulk.js";
import { save } from "../run/persist.js";
import { stateOf, type Values } from "../run/state.js";
import { keepStates } from "../run/undo.js";
import { at } from "./located.js";
import type { Item } from "./parts.js";

/** A related row and the row that it was given for. */
export interface Link {
  readonly owner: object;
  readonly item: Item;
}

export interface WriteTarget {
  /** The transaction. */
  readonly db: Queries;
  /** The database of the instances, which outlive the transaction. */
  readonly home: Queries | null;
}

/** Joins related rows with their owners. New rows of a foreign key are joined already. */
export async function joinRows(
  relation: RelationMeta,
  links: readonly Link[],
  rows: readonly (object | null)[],
  { db, home }: WriteTarget,
): Promise<void> {
  if (links.length === 0) return;
  for (const { item } of links) {
    // An instance that was made with `new` is not in the database yet.
    if (item.type === "instance" && relation.through && stateOf(item.instance).saved === null)
      await save(item.instance, { using: db }, home);
  }
  if (relation.through) await insertJoins(relation, links, rows, db);
  else await claimInstances(relation, links, { db, home });
}

/** Sets the foreign key of instances that were given. */
async function claimInstances(
  relation: RelationMeta,
  links: readonly Link[],
  { db, home }: WriteTarget,
): Promise<void> {
  const { target, targetColumns } = relation;
  const saved: object[] = [];
  for (const { owner, item } of links) {
    if (item.type !== "instance") continue;
    keepStates(db, [item.instance]);
    Object.assign(item.instance, linkTo(owner, relation));
    if (stateOf(item.instance).saved === null) await save(item.instance, { using: db }, home);
    else saved.push(item.instance);
  }
  const names = targetColumns.map((column) => column.name);
  await bulkUpdate(target, saved, names, undefined, db);
}

/** The columns of a related row that refer to its owner. */
export function linkTo(owner: object, { sourceColumns, targetColumns }: RelationMeta): Values {
  const key = (at: number): unknown => (owner as Values)[sourceColumns[at]!.attribute];
  return Object.fromEntries(targetColumns.map(({ attribute }, at) => [attribute, key(at)]));
}

async function insertJoins(
  relation: RelationMeta,
  links: readonly Link[],
  rows: readonly (object | null)[],
  db: Queries,
): Promise<void> {
  const { meta, sourceColumn, targetColumn, own } = relation.through!;
  if (!own && meta.columns.some((column) => !column.optional && column !== sourceColumn && column !== targetColumn)) {
    throw new FieldError(
      `${links[0]!.item.type === "new" ? links[0]!.item.given.path : links[0]!.item.path}: ${meta.name} needs more than the two keys: create its rows by themselves`,
    );
  }
  const columns = [sourceColumn, targetColumn];
  const sources = links.map(({ owner }) =>
    encodeColumn(meta, sourceColumn, (owner as Values)[relation.sourceColumn.attribute]),
  );
  const targets = links.map(({ item }, index) => {
    const row = rows[index] as Values | null;
    if (row !== null) return encodeColumn(meta, targetColumn, row[relation.targetColumn.attribute]);
    const { key, path } = item as Extract<Item, { type: "key" }>;
    return at(path, () => encodeColumn(meta, targetColumn, key));
  });
  const names = columns.map((column) => quote(column.column)).join(", ");
  const lists = columns.map((column, index) => `$${index + 1}::${arrayTypeOf(column.type)}`).join(", ");
  const text = `INSERT INTO ${meta.sqlName} (${names}) SELECT * FROM unnest(${lists}) ON CONFLICT DO NOTHING`;
  await db.execute(text, [list(sources), list(targets)]);
}

const list = (values: readonly unknown[]): unknown => array(undefined)(values);
