import type { Unset } from "../compile/json/json-patch.js";
import type { AnyExpression } from "../expressions/expression.js";
import type { FieldsOf, JsonNames, OutOf, Stored } from "../fields/types.js";
import { bulkCreateNested, createNested } from "../nested/create-nested.js";
import { hasRelated } from "../nested/parts.js";
import type { BulkCreateOptions } from "../run/bulk.js";
import * as bulk from "../run/bulk.js";
import { create as createInstance } from "../run/persist.js";
import * as races from "../run/races.js";
import * as write from "../run/write.js";
import type { CheckedWhere, ExpressionFor, Unused } from "./condition-types.js";
import type { NestedInput } from "./nested-types.js";
import type { AnyName, ColumnName, JsonValue, Name } from "./path-types.js";
import { PendingWrite } from "./pending-write.js";
import { ReadableRows } from "./readable-rows.js";
import type { UpdateInput } from "./row-types.js";
import type { LookupValue, WhereKeys } from "./where-types.js";

/** The methods of a queryset that write rows. Those of views do not have the type that `this` needs. */
export class WritableRows<out M, out Row = M, out A = unknown> extends ReadableRows<M, Row, A> {
  /** Inserts a row. Related rows among the values are inserted with it, in one transaction. */
  async create<Any extends AnyName = never>(
    this: this & Stored<M>,
    values: [AnyName] extends [Any] ? object : NestedInput<M>,
  ): Promise<M> {
    const { meta, db } = this.query;
    const given = values as unknown as object;
    if (!hasRelated(meta, given)) return (await createInstance(meta, given, db)) as M;
    return (await createNested(meta, [given], db, true))[0] as M;
  }

  /** Inserts many rows with one statement. With `onConflict: "ignore"`, only new rows are returned. */
  async bulkCreate<Any extends AnyName = never>(
    this: this & Stored<M>,
    items: readonly ([AnyName] extends [Any] ? object : NestedInput<M> | M)[],
    options?: [AnyName] extends [Any]
      ? BulkCreateOptions
      : BulkCreateOptions<ColumnName<M>, UpdateInput<M> & JsonKeysInput<M>, ConflictWhere<M>>,
  ): Promise<M[]> {
    const { meta, db } = this.query;
    const settings = bulk.readBulkCreate("bulkCreate()", options);
    const rows = items as unknown as readonly object[];
    if (rows.some((row) => !(row instanceof meta.model) && hasRelated(meta, row)))
      return (await bulkCreateNested(meta, rows, settings, db)) as M[];
    return (await bulk.bulkCreate(meta, rows, settings, db)) as M[];
  }

  /** Updates fields of many instances with one statement. Returns the number of rows. */
  async bulkUpdate(
    this: this & Stored<M>,
    instances: readonly M[],
    fields: readonly (ColumnName<M> & string)[],
    options?: bulk.BulkUpdateOptions,
  ): Promise<number> {
    const { meta, db } = this.query;
    const { batchSize } = bulk.bulkUpdateOptions.read([options]);
    return bulk.bulkUpdate(meta, instances as readonly object[], fields, batchSize, db);
  }

  /**
   * Returns the row that matches, or creates one from the lookups and `defaults`: `[row, created]`. Safe under concurrency
   * when a unique constraint covers the lookups.
   */
  async getOrCreate<const K extends Name = never, B = Unused>(
    this: this & Stored<M>,
    where: CheckedWhere<M, A, K, B>,
    defaults: [AnyName] extends [K] ? object : UpdateInput<M> = {} as never,
  ): Promise<[row: M, created: boolean]> {
    return (await races.getOrCreate(
      this.narrowed(where),
      where as unknown as object,
      defaults as unknown as object,
    )) as [M, boolean];
  }

  /** Updates the row that matches with `defaults`, or creates one from the lookups, `defaults` and `create`. */
  async updateOrCreate<const K extends Name = never, B = Unused>(
    this: this & Stored<M>,
    where: CheckedWhere<M, A, K, B>,
    defaults: [AnyName] extends [K] ? object : UpdateInput<M>,
    create: [AnyName] extends [K] ? object : UpdateInput<M> = {} as never,
  ): Promise<[row: M, created: boolean]> {
    return (await races.updateOrCreate(
      this.narrowed(where),
      where as unknown as object,
      defaults as unknown as object,
      create as unknown as object,
    )) as [M, boolean];
  }

  /**
   * Updates all rows with one statement and returns their number, or with `.returning()` the rows. Hooks are not called.
   * Without values, nothing is written. A key inside of JSON is written `settings__theme`; `unset` removes it.
   */
  update<Any extends AnyName = never>(
    this: this & Stored<M>,
    values: [AnyName] extends [Any] ? object : UpdateInput<M> & JsonKeysInput<M>,
  ): PendingWrite<M> {
    return new PendingWrite(write.update(this.query, values as unknown as object));
  }

  /** Updates all rows with one statement and returns them: short for `update(values).returning()`. */
  async updateReturning<Any extends AnyName = never>(
    this: this & Stored<M>,
    values: [AnyName] extends [Any] ? object : UpdateInput<M> & JsonKeysInput<M>,
  ): Promise<M[]> {
    return (await write.update(this.query, values as unknown as object).rows(null)) as M[];
  }

  /**
   * Deletes all rows with one statement and returns their number, or with `.returning()` the rows; softly if the model has
   * `softDelete()`. Hooks are not called.
   */
  delete(this: this & Stored<M>): PendingWrite<M> {
    return new PendingWrite(write.remove(this.query, false));
  }

  /** Removes the rows from the table, also for models with `softDelete()`. */
  hardDelete(this: this & Stored<M>): PendingWrite<M> {
    return new PendingWrite(write.remove(this.query, true));
  }

  /** Restores softly deleted rows and returns their number, or with `.returning()` the rows. */
  restore(this: this & Stored<M>): PendingWrite<M> {
    return new PendingWrite(write.restore(this.query));
  }
}

/** The condition for the update of a row that conflicts: lookups of the row in the table, or an expression such as `test(...)`. */
type ConflictWhere<M> = ConflictLookups<M> | AnyExpression;

type ConflictLookups<M> = {
  readonly [K in WhereKeys<FieldsOf<M>, unknown>]?:
    | LookupValue<FieldsOf<M>, unknown, K>
    | ExpressionFor<LookupValue<FieldsOf<M>, unknown, K>, M, unknown>;
};

/** The types of single keys inside of JSON columns, for `update({ settings__theme: "dark" })`. */

/** Keys of the JSON columns of a model, with the types of their values. */
type JsonKeysInput<M> = KeysOf<FieldsOf<M>>;

type KeysOf<F> = [JsonNames<F>] extends [never]
  ? unknown
  : { readonly [K in KeyPaths<F>]?: ValueAt<F, K> | AnyExpression | Unset };

type KeyPaths<F> = { [N in JsonNames<F>]: `${N}__${PathsIn<NonNullable<OutOf<F[N]>>, [1, 1, 1, 1]>}` }[JsonNames<F>];

/** The paths of keys in a JSON value, up to a depth. A value of any type takes any keys. */
type PathsIn<T, Depth extends readonly unknown[]> = unknown extends T
  ? string
  : T extends readonly unknown[]
    ? `${number}`
    : T extends object
      ? AnyKeys<T> extends true
        ? string
        : { [K in keyof T & string]: K | Deeper<K, NonNullable<T[K]>, Depth> }[keyof T & string]
      : never;

/** True for an object whose keys are not known, such as `{}`. */
type AnyKeys<T> = string extends keyof T ? true : [keyof T] extends [never] ? true : false;

type Deeper<K extends string, T, Depth extends readonly unknown[]> = Depth extends readonly [unknown, ...infer Rest]
  ? `${K}__${PathsIn<T, Rest>}`
  : never;

type ValueAt<F, Path> = Path extends `${infer Name extends JsonNames<F>}__${infer Rest}`
  ? Known<JsonValue<NonNullable<OutOf<F[Name]>>, Rest>>
  : never;

/** The keys are checked before: a value without a type can be anything. */
type Known<Value> = [Value] extends [never] ? unknown : Value;
