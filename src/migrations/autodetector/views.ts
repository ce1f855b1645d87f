import { isDeepStrictEqual } from "node:util";
import type { SchemaState } from "../../orm/schema/state.js";
import { baseType } from "../../orm/schema/type-names.js";
import { reads, viewOrder } from "../../orm/schema/views.js";
import { has, own } from "../lookup.js";
import { op } from "../operations.js";
import type { Journal } from "./journal.js";

/**
 * Drops the views that were removed or changed, and those that read a table which PostgreSQL would not let change under them. A
 * view goes before those that it reads. The views that stay are created again at the end.
 */
export function dropViews(journal: Journal, to: SchemaState): void {
  const { tables, views = {} } = journal.state;
  const changed = Object.keys(tables).filter((name) => changes(journal.state, to, name));
  for (const name of viewOrder(views)) {
    const isSame = isDeepStrictEqual(own(to.views, name), views[name]);
    if (!isSame || changed.some((each) => reads(views[name]!, each))) changed.push(name);
  }
  for (const name of changed.reverse()) if (has(views, name)) journal.add(op.dropView(name));
}

/** Creates the views that are missing, each after those that it reads. */
export function createViews(journal: Journal, to: SchemaState): void {
  for (const name of viewOrder(to.views))
    if (!has(journal.state.views, name)) journal.add(op.createView(name, to.views![name]!));
}

/** True if a table loses or converts a column, or gets another key. */
function changes(from: SchemaState, to: SchemaState, name: string): boolean {
  const [old, now] = [from.tables[name]!, own(to.tables, name)];
  if (now === undefined || !isDeepStrictEqual(old.primaryKey, now.primaryKey)) return true;
  return Object.entries(old.columns).some(([column, { type, generated, collation }]) => {
    const wanted = own(now.columns, column);
    const values = baseType(type).replaceAll('"', "");
    return (
      !isDeepStrictEqual([wanted?.type, wanted?.generated, wanted?.collation], [type, generated, collation]) ||
      !isDeepStrictEqual(own(from.enums, values), own(to.enums, values))
    );
  });
}
