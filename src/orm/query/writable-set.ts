import type { BulkCreateOptions } from "../run/bulk.js";
import * as bulk from "../run/bulk.js";
import { create as createInstance } from "../run/persist.js";
import * as races from "../run/races.js";
import * as write from "../run/write.js";
import { narrowed, ReadableSet } from "./readable-set.js";
import type { ColumnName, CreateInput, UpdateInput } from "./row-types.js";
import type { CheckedCondition } from "./where-types.js";

/** The part of a queryset that writes: it creates rows, and changes and deletes those that its query finds. */
export abstract class WritableSet<M, Row, A> extends ReadableSet<M, Row, A> {
  async create(values: CreateInput<M>): Promise<M> {
    return (await createInstance(this.query.meta, values as object, this.query.db)) as M;
  }

  /** Inserts many rows with one statement. With `onConflict: "ignore"`, only new rows are returned. */
  async bulkCreate(items: readonly (CreateInput<M> | M)[], options: BulkCreateOptions = {}): Promise<M[]> {
    return (await bulk.bulkCreate(this.query.meta, items as readonly object[], options, this.query.db)) as M[];
  }

  /** Updates fields of many instances with one statement. Returns the number of rows. */
  async bulkUpdate(
    instances: readonly M[],
    fields: readonly (ColumnName<M> & string)[],
    options: { readonly batchSize?: number } = {},
  ): Promise<number> {
    const { meta, db } = this.query;
    return bulk.bulkUpdate(meta, instances as readonly object[], fields, options.batchSize, db);
  }

  /** Returns the row that matches, or creates one from the lookups and `defaults`: `[row, created]`. Safe under concurrency when a unique constraint covers the lookups. */
  async getOrCreate<const C extends Readonly<Record<string, unknown>>>(
    where: C & CheckedCondition<M, A, C>,
    defaults: UpdateInput<M> = {} as UpdateInput<M>,
  ): Promise<[row: M, created: boolean]> {
    return (await races.getOrCreate(narrowed(this.query, where), where, defaults)) as [M, boolean];
  }

  /** Updates the row that matches with `defaults`, or creates one from the lookups, `defaults` and `create`. */
  async updateOrCreate<const C extends Readonly<Record<string, unknown>>>(
    where: C & CheckedCondition<M, A, C>,
    defaults: UpdateInput<M>,
    create: UpdateInput<M> = {} as UpdateInput<M>,
  ): Promise<[row: M, created: boolean]> {
    return (await races.updateOrCreate(narrowed(this.query, where), where, defaults, create)) as [M, boolean];
  }

  /** Updates all rows with one statement and returns their number. Hooks are not called. Without values, nothing is written. */
  async update(values: UpdateInput<M>): Promise<number> {
    return write.update(this.query, values);
  }

  /** Updates all rows with one statement and returns them. */
  async updateReturning(values: UpdateInput<M>): Promise<M[]> {
    return (await write.updateReturning(this.query, values)) as M[];
  }

  /** Deletes all rows with one statement and returns their number; softly if the model has `softDelete()`. Hooks are not called. */
  async delete(): Promise<number> {
    return write.remove(this.query, false);
  }

  /** Removes the rows from the table, also for models with `softDelete()`. */
  async hardDelete(): Promise<number> {
    return write.remove(this.query, true);
  }

  /** Restores softly deleted rows and returns their number. */
  async restore(): Promise<number> {
    return write.restore(this.query);
  }
}
