/**
 * Creates rows together with their related rows, in one transaction. All rows at the same place (all `books` of all given
 * authors) are inserted by one statement.
 */

import type { Queries } from "../../engines/db/database.js";
import { ValueError } from "../../kit/value-error.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import type { ModelMeta, RelationMeta } from "../meta.js";
import { type BulkCreateOptions, bulkCreate } from "../run/bulk.js";
import { runHooks } from "../run/hooks.js";
import { insert } from "../run/persist.js";
import { setCreated, setRelated, stateOf, type Values } from "../run/state.js";
import { keepStates } from "../run/undo.js";
import { joinRows, type Link, linkTo, type WriteTarget } from "./join-rows.js";
import { at, located, type Placed } from "./located.js";
import { type Given, type Item, isInstance, join, partsOf, type RowParts } from "./parts.js";

/** Values that contain themselves would never end. */
const maxDepth = 20;

interface Run extends WriteTarget {
  /** True if the hooks of each instance are called, as `create` does. */
  readonly hooks: boolean;
  /** All instances that were inserted, in order. */
  readonly made: object[];
}

export async function createNested(
  meta: ModelMeta,
  items: readonly object[],
  db: Queries | null,
  hooks: boolean,
  place: string = "",
  home: Queries | null = db,
): Promise<object[]> {
  return connectionFor(db).transaction(async (tx) => {
    const run: Run = { db: tx, home, hooks, made: [] };
    const isListed = items.length > 1 || place !== "";
    const given = items.map((values, index) => ({
      values: values as Values,
      path: isListed ? `${place}[${index}]` : "",
    }));
    const instances = await insertLevel(meta, given, run, 0);
    if (hooks) for (const instance of run.made) await runHooks(instance, "afterSave", { created: true });
    // Later changes of the instances do not belong to this transaction, which has ended by then.
    for (const instance of run.made) stateOf(instance).db = home;
    return instances;
  });
}

/** Like `bulkCreate`, for rows with related rows. Hooks are not called. */
export async function bulkCreateNested(
  meta: ModelMeta,
  items: readonly object[],
  options: BulkCreateOptions,
  db: Queries | null,
): Promise<object[]> {
  if (options.onConflict !== undefined) throw new ValueError("related rows cannot be created with 'onConflict'");
  if (items.some(isInstance))
    throw new FieldError("bulkCreate takes instances or values with related rows, not both at once");
  return createNested(meta, items, db, false);
}

async function insertLevel(meta: ModelMeta, given: readonly Given[], run: Run, depth: number): Promise<object[]> {
  if (given.length === 0) return [];
  if (depth > maxDepth) throw new FieldError(`${given[0]!.path}: related rows may be ${maxDepth} levels deep at most`);
  const parts = given.map((each) => partsOf(meta, each));
  await insertBefore(meta, parts, run, depth);
  const rows = given.map(({ path }, index): Placed => {
    const { own, before } = parts[index]!;
    const instance = at(path, () => new meta.model(own));
    stateOf(instance).db = run.home;
    keepStates(run.db, [instance]);
    for (const key of before.keys()) setRelated(instance, meta.column(key)?.name ?? key, own[key], true);
    return { path, instance };
  });
  await insertRows(meta, rows, run);
  const instances = rows.map(({ instance }) => instance);
  for (const relation of relationsOf(parts)) {
    const items = parts.map(({ after }) => after.get(relation));
    await insertAfter(relation, instances, items, run, depth);
  }
  return instances;
}

/** Inserts the rows that the rows of a level refer to, and puts them in the place of their values. */
async function insertBefore(meta: ModelMeta, parts: readonly RowParts[], run: Run, depth: number): Promise<void> {
  const keys = new Set(parts.flatMap(({ before }) => [...before.keys()]));
  for (const key of keys) {
    const { target } = meta.column(key)?.reference ?? meta.relations.get(key)!;
    const users = parts.filter(({ before }) => before.has(key));
    const made = await insertLevel(
      target,
      users.map(({ before }) => before.get(key)!),
      run,
      depth + 1,
    );
    users.forEach(({ own }, index) => {
      own[key] = made[index];
    });
  }
}

async function insertRows(meta: ModelMeta, rows: readonly Placed[], run: Run): Promise<void> {
  if (run.hooks) for (const { instance } of rows) await runHooks(instance, "beforeSave", { created: true });
  const instances = rows.map(({ instance }) => instance);
  try {
    if (instances.length === 1) await insert(instances[0]!, meta, run.db, run.db);
    else await bulkCreate(meta, instances, {}, run.db);
  } catch (error) {
    throw located(meta, rows, error);
  }
  for (const instance of instances) run.made.push(instance);
}

function relationsOf(parts: readonly RowParts[]): Set<RelationMeta> {
  return new Set(parts.flatMap(({ after }) => [...after.keys()]));
}

/** Writes the related rows of one relation, for all owners at once. */
async function insertAfter(
  relation: RelationMeta,
  owners: readonly object[],
  items: readonly (readonly Item[] | undefined)[],
  run: Run,
  depth: number,
): Promise<void> {
  const links = owners.flatMap((owner, index) => (items[index] ?? []).map((item): Link => ({ owner, item })));
  const fresh = links.filter(isNew);
  const given = fresh.map(({ owner, item }) => (relation.through ? item.given : claimed(relation, owner, item.given)));
  const made = await insertLevel(relation.target, given, run, depth + 1);
  const byLink = new Map<Link, object>(fresh.map((link, index) => [link, made[index]!]));
  const rows = links.map((link) => byLink.get(link) ?? (link.item.type === "instance" ? link.item.instance : null));
  await joinRows(relation, links, rows, run);
  let next = 0;
  owners.forEach((owner, index) => {
    const own = rows.slice(next, (next += items[index]?.length ?? 0));
    // Rows that were given by key are not known.
    if (items[index] === undefined || own.includes(null)) return;
    if (relation.single) setRelated(owner, relation.name, own[0] ?? null, true);
    else setCreated(owner, relation.name, own as object[]);
  });
}

function isNew(link: Link): link is Link & { readonly item: { readonly type: "new" } } {
  return link.item.type === "new";
}

/** The values of a row with the foreign key that leads to its owner. */
function claimed(relation: RelationMeta, owner: object, { values, path }: Given): Given {
  for (const key of relation.targetColumns.flatMap(({ attribute, name }) => [attribute, name])) {
    if (values[key] !== undefined)
      throw new FieldError(`${join(path, key)} is set by ${relation.source.name}.${relation.name}: leave it out`);
  }
  return { values: { ...values, ...linkTo(owner, relation) }, path };
}
