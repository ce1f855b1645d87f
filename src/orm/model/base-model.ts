// biome-ignore-all lint/complexity/noThisInStatic: a model is the class that extends this one.

import { inspect } from "node:util";
import type { Queries, Statement } from "../../engines/db/database.js";
import { isQueries } from "../../engines/db/is-queries.js";
import { jsonResponse, type Response } from "../../http/response.js";
import { toResponseSymbol } from "../../http/to-response.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import {
  type BodyResult,
  bodyValidatorSymbol,
  jsonSchemaSymbol,
  type NamedJsonSchema,
} from "../../validation/body-validator.js";
import { modelBodyReader } from "../body/model-body.js";
import { modelSchema } from "../body/model-schema.js";
import type { ExtraPlan, RowPlan } from "../compile/row-plan.js";
import { connectionFor, strictByDefault } from "../database.js";
import { DoesNotExist, FieldError, MultipleObjectsReturned } from "../errors.js";
import type { ColumnMeta, ModelConstructor, ModelMeta, RelationMeta } from "../meta.js";
import { rootQuery } from "../nodes.js";
import { QuerySet } from "../query/queryset.js";
import { saveRelated } from "../relations/change-related.js";
import { LazyRelation } from "../relations/lazy.js";
import { RelatedSet } from "../relations/related-set.js";
import { addHook, type Hook, type HookEvent } from "../run/hooks.js";
import { hydrate } from "../run/hydrate.js";
import { instanceJson, standardJson } from "../run/json.js";
import { load } from "../run/load.js";
import { missing } from "../run/missing.js";
import {
  assign,
  belongs,
  keyQuery,
  metaOf,
  remove,
  restore,
  type SaveOptions,
  save,
  saveOptions,
} from "../run/persist.js";
import { isListed, setRelated, stateOf, Tracked, type Values } from "../run/state.js";
import { keepStates } from "../run/undo.js";
import { metaFor } from "./declarations.js";

interface ErrorClasses {
  readonly DoesNotExist: typeof DoesNotExist;
  readonly MultipleObjectsReturned: typeof MultipleObjectsReturned;
}

const managers = new WeakMap<object, QuerySet<object>>();
const errorClasses = new WeakMap<object, ErrorClasses>();

const rawOptions = options("raw()", {
  /** The transaction or database to read with. Default: the one of the request. */
  using: option(isQueries),
});

export interface RawOptions extends OptionsOf<typeof rawOptions.fields> {}

/** The members of all models at run time; their types are in model.ts. */
export class BaseModel extends Tracked {
  constructor(values?: object) {
    super();
    if (values !== undefined) assign(this, metaOf(this), values);
  }

  static get meta(): ModelMeta {
    return metaFor(this, defineRelation);
  }

  static get objects(): QuerySet<object> {
    let manager = managers.get(this);
    if (manager === undefined) managers.set(this, (manager = new QuerySet(rootQuery(this.meta))));
    return manager;
  }

  static get DoesNotExist(): typeof DoesNotExist {
    return errorsOf(this).DoesNotExist;
  }

  static get MultipleObjectsReturned(): typeof MultipleObjectsReturned {
    return errorsOf(this).MultipleObjectsReturned;
  }

  static on(event: HookEvent, hook: Hook): () => void {
    return addHook(this, event, hook);
  }

  static raw(statement: Statement, params?: readonly unknown[], options?: RawOptions): Promise<object[]> {
    return rawRows(this.meta, statement, params, rawOptions.read([options]).using ?? null);
  }

  /** Reads the bodies of routes with `{ body: Book }`. */
  static [bodyValidatorSymbol](bytes: Uint8Array, limit?: number): BodyResult<Values> {
    return modelBodyReader(this.meta, "whole")(bytes, limit);
  }

  static [jsonSchemaSymbol](direction: "input" | "output"): NamedJsonSchema {
    return modelSchema(this.meta, direction);
  }

  get pk(): unknown {
    const keys = metaOf(this).primaryKey.map((column) => (this as unknown as Values)[column.attribute]);
    return keys.length === 1 ? keys[0] : keys;
  }

  async save(options?: SaveOptions): Promise<this> {
    const settings = options === undefined ? undefined : saveOptions.read([options]);
    if (settings?.related === undefined) await save(this, settings);
    else await saveRelated(this, settings, settings.related);
    return this;
  }

  async delete(): Promise<void> {
    await remove(this, false);
  }

  async hardDelete(): Promise<void> {
    await remove(this, true);
  }

  async restore(): Promise<this> {
    await restore(this);
    return this;
  }

  async refresh(): Promise<this> {
    const meta = metaOf(this);
    const { db } = stateOf(this);
    const part = keepStates(connectionFor(db), [this]);
    const [fresh] = (await load(keyQuery(this, meta, db))) as Values[];
    if (fresh === undefined) throw missing(meta, "is no longer in the database");
    if (part.undone) return this;
    for (const column of meta.columns) (this as unknown as Values)[column.attribute] = fresh[column.attribute];
    const { saved, offset } = stateOf(fresh);
    Object.assign(stateOf(this), { saved, offset, related: null, shown: [] });
    return this;
  }

  related(name: string): RelatedSet<object> {
    const relation = relationNamed(this, name);
    if (relation.single) throw new FieldError(`${relation.source.name}.${name} leads to one row, not to many`);
    return new RelatedSet(this, relation);
  }

  toJSON(): Values {
    return instanceJson(this, metaOf(this));
  }

  [toResponseSymbol](): Response {
    return jsonResponse(JSON.stringify(this), 200);
  }

  /** The form of an instance in logs: its values and loaded relations, without internal state. */
  [inspect.custom](_depth: number, options: object, show: typeof inspect): string {
    const meta = metaOf(this);
    const values = { ...this } as unknown as Values;
    for (const column of meta.columns)
      if (column.hidden && column.attribute in values) values[column.attribute] = "(hidden)";
    for (const [name, value] of stateOf(this).related ?? []) values[name] = value;
    return `${meta.name} ${show(values, options)}`;
  }
}

standardJson(BaseModel.prototype.toJSON);

function errorsOf(model: typeof BaseModel): ErrorClasses {
  const own = errorClasses.get(model);
  if (own) return own;
  const classes: ErrorClasses = {
    DoesNotExist: class extends DoesNotExist {},
    MultipleObjectsReturned: class extends MultipleObjectsReturned {},
  };
  errorClasses.set(model, classes);
  return classes;
}

function relationNamed(instance: object, name: string): RelationMeta {
  const relation = metaOf(instance).relations.get(name);
  if (relation === undefined) throw new FieldError(`${metaOf(instance).name} has no relation '${name}'`);
  return relation;
}

/**
 * Defines a property that returns the loaded relation, or an object that loads it. It is on the prototype: instances hold
 * only their columns.
 */
function defineRelation(prototype: object, name: string): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: object): unknown {
      // Tools that list properties read them on the prototype itself.
      if (this === prototype || (this.constructor as Partial<ModelConstructor>).meta === undefined) return undefined;
      return readRelation(this, relationNamed(this, name));
    },
    set(this: object, value: unknown) {
      writeRelation(this, relationNamed(this, name), value);
    },
  });
}

function readRelation(instance: object, relation: RelationMeta): unknown {
  const { related } = stateOf(instance);
  // The property is a list only if the query loaded the relation. Lazily loaded rows are kept, but must be awaited
  // again.
  if (!relation.single)
    return isListed(instance, relation.name) ? related!.get(relation.name) : new RelatedSet(instance, relation);
  const owned = relation.kind === "foreignKey" || relation.kind === "oneToOne";
  const leads =
    !owned || relation.sourceColumns.every(({ attribute }) => ((instance as Values)[attribute] ?? null) !== null);
  if (related?.has(relation.name)) {
    const loaded = related.get(relation.name) as object | null | undefined;
    // The key may have changed since the relation was loaded or set. A query can find no row for a key.
    const isNone = loaded === null || loaded === undefined;
    const stale =
      owned && (isNone ? leads && !isListed(instance, relation.name) : !belongs(instance, loaded, relation));
    if (!stale) return loaded;
    related.delete(relation.name);
  }
  return leads ? new LazyRelation(instance, relation) : null;
}

function writeRelation(instance: object, relation: RelationMeta, value: unknown): void {
  if (relation.kind !== "foreignKey" && relation.kind !== "oneToOne") {
    throw new FieldError(`${relation.source.name}.${relation.name} cannot be assigned: use its set()`);
  }
  if (value === null) {
    if (relation.sourceColumns.length === 1) (instance as Values)[relation.sourceColumn.attribute] = null;
    else assign(instance, relation.source, { [relation.name]: null });
    setRelated(instance, relation.name, null);
    return;
  }
  assign(instance, relation.source, { [relation.name]: value });
}

/**
 * Runs a statement and returns its rows as instances. Columns are matched by name; other columns become annotations.
 */
async function rawRows(
  meta: ModelMeta,
  statement: Statement,
  params: readonly unknown[] | undefined,
  db: Queries | null,
): Promise<object[]> {
  const { columns, rows } = await connectionFor(db).fetchArrays(statement, params);
  const known: { readonly column: ColumnMeta; readonly at: number }[] = [];
  const extras: ExtraPlan[] = [];
  columns.forEach((name, at) => {
    const column =
      meta.columns.find((each) => each.column === name) ?? meta.columns.find((each) => each.attribute === name);
    if (column) known.push({ column, at });
    else extras.push({ name, at, type: undefined });
  });
  const missing = meta.primaryKey.find((key) => !known.some(({ column }) => column === key));
  if (missing) throw new FieldError(`the statement for ${meta.name} must select its primary key, ${missing.column}`);
  for (const { name } of extras) {
    if (!/^[A-Za-z_]\w*$/.test(name) || name in meta.model.prototype)
      throw new FieldError(`the statement for ${meta.name} selects a column that cannot be named '${name}'`);
  }
  // Models are built by position: their columns first, in the order of the model.
  known.sort((a, b) => a.column.index - b.column.index);
  const ordered = rows.map((row) => [...known.map(({ at }) => row[at]), ...extras.map(({ at }) => row[at])]);
  const plan: RowPlan = {
    meta,
    columns: known.map(({ column }) => column),
    at: 0,
    related: [],
    extras: extras.map(({ name, type }, index) => ({ name, type, at: known.length + index })),
  };
  return hydrate(ordered, plan, { db, strict: strictByDefault() });
}
