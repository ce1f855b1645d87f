/**
 * `getOrCreate` and `updateOrCreate`, safe under concurrency when a unique constraint covers the lookups. The insert
 * does nothing if a row already exists (ON CONFLICT DO NOTHING), so a lost race is not an error and does not break a
 * transaction. The row is then read again.
 */

import type { Queries } from "../../engines/db/database.js";
import { insertStatement, refuseView, returningPlan } from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import type { ModelMeta } from "../meta.js";
import type { Query } from "../nodes.js";
import { runHooks } from "./hooks.js";
import { absorb, valuesOf } from "./hydrate.js";
import { load } from "./load.js";
import { assign, insertValues, save } from "./persist.js";
import { stateOf, type Values } from "./state.js";
import { keepStates } from "./undo.js";

const attempts = 5;

export async function getOrCreate(query: Query, where: object, defaults: object): Promise<[object, boolean]> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await one(query);
    if (found) return [found, false];
    const values = { ...plainValues(query.meta, where), ...defaults };
    const made = await insertUnlessThere(query.meta, values, query.db, query.db);
    if (made) return [made, true];
  }
  throw new FieldError(
    `${query.meta.name}: a row conflicts with the new one but is not found by ${Object.keys(where).join(", ")}`,
  );
}

export async function updateOrCreate(
  query: Query,
  where: object,
  defaults: object,
  creating: object,
): Promise<[object, boolean]> {
  refuseView(query.meta);
  return connectionFor(query.db).transaction(async (tx) => {
    const locked: Query = { ...query, db: tx, lock: { strength: "update", wait: "wait" } };
    for (let attempt = 0; attempt < attempts; attempt++) {
      const found = await one(locked);
      if (found) {
        // Later saves are not part of this transaction, nor is one after its rollback.
        stateOf(found).db = query.db;
        assign(found, query.meta, defaults);
        await save(found, { using: tx }, query.db);
        return [found, false] as [object, boolean];
      }
      const values = { ...plainValues(query.meta, where), ...defaults, ...creating };
      const made = await insertUnlessThere(query.meta, values, tx, query.db);
      if (made) return [made, true] as [object, boolean];
    }
    throw new FieldError(
      `${query.meta.name}: a row conflicts with the new one but is not found by ${Object.keys(where).join(", ")}`,
    );
  });
}

async function one(query: Query): Promise<object | undefined> {
  const [first, second] = (await load({ ...query, limit: 2 })) as object[];
  if (second) {
    const { MultipleObjectsReturned } = query.meta.model as unknown as {
      MultipleObjectsReturned: new (message: string) => Error;
    };
    throw new MultipleObjectsReturned(`more than one ${query.meta.name} matches`);
  }
  return first;
}

/** Inserts a row; null if an existing row conflicts with it. Later saves of the instance go to `db`. */
async function insertUnlessThere(
  meta: ModelMeta,
  values: object,
  using: Queries | null,
  db: Queries | null,
): Promise<object | null> {
  const instance = new meta.model(values);
  stateOf(instance).db = db;
  const connection = connectionFor(using);
  keepStates(connection, [instance]);
  await runHooks(instance, "beforeSave", { created: true });
  const plan = returningPlan(meta);
  const sent = valuesOf(instance, plan);
  const { text, params } = insertStatement(meta, insertValues(instance, meta), true);
  const part = keepStates(connection, [instance]);
  const { rows } = await connection.fetchArrays(text, params);
  if (rows[0] === undefined) return null;
  if (!part.undone) absorb(instance, rows[0], plan, db, sent);
  await runHooks(instance, "afterSave", { created: true });
  return instance;
}

/** The lookups that are also values of a new row: `{ name: "x" }`, but not `{ year__gte: 2000 }`. */
function plainValues(meta: ModelMeta, where: object): Values {
  const values: Values = {};
  for (const [key, value] of Object.entries(where)) {
    const name = key.endsWith("__exact") ? key.slice(0, -7) : key;
    if (meta.column(name)) values[name] = value;
  }
  return values;
}
