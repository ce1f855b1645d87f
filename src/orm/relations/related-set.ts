import type { Queries } from "../../engines/db/database.js";
import { encodeColumn } from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import { array } from "../fields/encode.js";
import type { SavedRow, Stored } from "../fields/types.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, ModelMeta, RelationMeta } from "../meta.js";
import { type ConditionNode, type Query, rootQuery } from "../nodes.js";
import type { NestedInput } from "../query/nested-types.js";
import { QuerySet } from "../query/queryset.js";
import type { KeyOf } from "../query/row-types.js";
import { metaOf, save } from "../run/persist.js";
import { stateOf, type Values } from "../run/state.js";
import { keepStates } from "../run/undo.js";
import { loadLazily } from "./lazy.js";

/** A related row: an instance, or its key. */
type Related<M> = M | SavedRow<M> | KeyOf<M>;

/**
 * The related rows of a to-many relation. It is a queryset; awaited without further calls, it loads the rows for all
 * instances of the same query at once. `in out` is what the members say; without it TypeScript 7 compares two sets without end.
 */
export class RelatedSet<in out M> extends QuerySet<M> {
  readonly #owner: object;
  readonly #relation: RelationMeta;
  #isPart = false;
  /** The database of the instances, which outlive the transaction of the set. */
  #home: Queries | null;

  constructor(owner: object, relation: RelationMeta) {
    super({ ...rootQuery(relation.target), db: stateOf(owner).db, where: [condition(owner, relation)], via: relation });
    this.#owner = owner;
    this.#relation = relation;
    this.#home = this.query.db;
  }

  /** @internal A part of the related rows, such as those of a filter. It is read by its own query. */
  protected override with(query: Query): this {
    const part = this.#read(query, query.db);
    part.#isPart = true;
    return part as this;
  }

  /** @internal The same rows, read and written by a transaction of `home`. */
  inside(db: Queries, home: Queries | null): RelatedSet<M> {
    return this.#read({ ...this.query, db }, home);
  }

  #read(query: Query, home: Queries | null): RelatedSet<M> {
    const set = new RelatedSet<M>(this.#owner, this.#relation);
    Object.defineProperty(set, "query", { value: query });
    set.#home = home;
    return set;
  }

  override async toArray(): Promise<M[]> {
    if (this.#isPart) return super.toArray();
    return (await loadLazily(this.#owner, this.#relation)) as M[];
  }

  /** Creates a related row, with its own related rows if they are given; its foreign key is set. */
  override async create(this: this & Stored<M>, values: Partial<NestedInput<M>>): Promise<M> {
    const { through } = this.#relation;
    if (through) {
      const made = await super.create(values as never);
      await this.add(made);
      return made;
    }
    this.#forget();
    return super.create({ ...values, ...this.#link() } as never);
  }

  /** Adds rows to the relation. Rows that are already related stay related. */
  async add(...items: readonly Related<M>[]): Promise<void> {
    this.#forget();
    if (items.length === 0) return;
    const { through } = this.#relation;
    if (through) return this.#addThrough(items);
    const keys = items.filter((item) => typeof item !== "object" || Array.isArray(item));
    await this.#addByKey([...new Set(keys)]);
    const using = connectionFor(this.query.db);
    for (const item of items) if (!keys.includes(item)) await save(this.#claimed(item), { using }, this.#home);
  }

  async #addByKey(keys: readonly unknown[]): Promise<void> {
    if (keys.length === 0) return;
    const { target, name } = this.#relation;
    const rows = new QuerySet<object>({ ...rootQuery(target), db: this.query.db, where: [withKeys(target, keys)] });
    const found = await rows.update(this.#link() as never);
    if (found < keys.length)
      throw new FieldError(`${name}: ${keys.length - found} of the given keys belong to no ${target.name}`);
  }

  /** Removes rows from the relation. If the foreign key cannot be null, delete the rows instead. */
  async remove(...items: readonly Related<M>[]): Promise<void> {
    this.#forget();
    if (items.length === 0) return;
    const { through, target } = this.#relation;
    const db = connectionFor(this.query.db);
    if (through) {
      const text = `DELETE FROM ${through.meta.sqlName} WHERE ${quote(through.sourceColumn.column)} = $1 AND ${quote(through.targetColumn.column)} = ANY($2)`;
      await db.execute(text, [this.#ownerKey(), this.#keys(items)]);
      return;
    }
    const where = [...this.query.where, withKeys(target, items)];
    await new QuerySet<object>({ ...this.query, where }).update(this.#unlinked() as never);
  }

  /** Removes all rows from the relation. */
  async clear(): Promise<void> {
    this.#refusePart("clear");
    this.#forget();
    const { through } = this.#relation;
    if (through) {
      const text = `DELETE FROM ${through.meta.sqlName} WHERE ${quote(through.sourceColumn.column)} = $1`;
      await connectionFor(this.query.db).execute(text, [this.#ownerKey()]);
      return;
    }
    await new QuerySet<object>(this.query).update(this.#unlinked() as never);
  }

  /** Replaces the related rows with these, in one transaction. */
  async set(items: readonly Related<M>[]): Promise<void> {
    this.#refusePart("set");
    await connectionFor(this.query.db).transaction(async (tx) => {
      const inside = this.inside(tx, this.#home);
      if (this.#relation.through) await inside.clear();
      else {
        const kept = withKeys(this.#relation.target, items);
        const where: ConditionNode[] = [...inside.query.where, { type: "not", child: kept }];
        const others = new QuerySet<M>({ ...inside.query, where });
        const gone = await others.toArray();
        await inside.remove(...gone);
      }
      await inside.add(...items);
    });
    this.#forget();
  }

  /** A filter before `clear()` or `set()` would be ignored for a many-to-many relation. */
  #refusePart(method: string): void {
    if (this.#isPart) throw new FieldError(`${method}() is called on the relation itself, not on a part of it`);
  }

  async #addThrough(items: readonly Related<M>[]): Promise<void> {
    const { meta, sourceColumn, targetColumn, own } = this.#relation.through!;
    if (!own && meta.columns.some((column) => !column.optional && column !== sourceColumn && column !== targetColumn)) {
      throw new FieldError(`${meta.name} needs more than the two keys: create its rows in place of add()`);
    }
    const text = `INSERT INTO ${meta.sqlName} (${quote(sourceColumn.column)}, ${quote(targetColumn.column)}) SELECT $1, u FROM unnest($2::${targetColumn.type.sqlType}[]) u ON CONFLICT DO NOTHING`;
    await connectionFor(this.query.db).execute(text, [this.#ownerKey(), this.#keys(items)]);
  }

  /** An instance whose foreign key leads to the owner. */
  #claimed(item: Related<M>): object {
    const { target } = this.#relation;
    if (typeof item !== "object" || item === null || metaOf(item).sqlName !== target.sqlName) {
      throw new FieldError(`${this.#relation.name} takes instances of ${target.name}`);
    }
    keepStates(connectionFor(this.query.db), [item]);
    return Object.assign(item, this.#link());
  }

  /** The columns of a related row that refer to the owner. */
  #link(): Values {
    const { sourceColumns, targetColumns } = this.#relation;
    return Object.fromEntries(
      targetColumns.map(({ attribute }, at) => [attribute, keyOf(this.#owner, sourceColumns[at]!)]),
    );
  }

  /** The columns of a related row that can be null, as nulls: the row then refers to no other. */
  #unlinked(): Values {
    const { target, targetColumns } = this.#relation;
    const nullable = targetColumns.filter((column) => column.nullable);
    if (nullable.length > 0) return Object.fromEntries(nullable.map(({ attribute }) => [attribute, null]));
    throw new FieldError(
      `${target.name}.${targetColumns[0]!.name} cannot be null: delete the rows in place of removing them`,
    );
  }

  #ownerKey(): unknown {
    const { through, sourceColumn } = this.#relation;
    return encodeColumn(this.#relation.source, through!.sourceColumn, keyOf(this.#owner, sourceColumn));
  }

  #keys(items: readonly unknown[]): string {
    const { targetColumn } = this.#relation;
    return array(targetColumn.type.encode)(items.map((item) => itemKey(item, targetColumn)));
  }

  /** Drops the loaded rows, because a change makes them out of date. */
  #forget(): void {
    keepStates(connectionFor(this.query.db), [this.#owner]);
    const state = stateOf(this.#owner);
    state.related?.delete(this.#relation.name);
    state.shown = state.shown.filter((name) => name !== this.#relation.name);
  }
}

/** The condition for the rows of these instances or keys. */
export function withKeys({ primaryKey }: ModelMeta, items: readonly unknown[]): ConditionNode {
  const [first] = primaryKey as [ColumnMeta];
  if (primaryKey.length === 1)
    return { type: "lookup", key: `${first.attribute}__in`, value: items.map((item) => itemKey(item, first)) };
  const keys = items.map((item) =>
    Array.isArray(item) ? (item as unknown[]) : primaryKey.map((column) => itemKey(item, column)),
  );
  return keys.length === 0 ? { type: "or", children: [] } : { type: "keys", columns: primaryKey, keys };
}

function itemKey(item: unknown, column: ColumnMeta): unknown {
  if (typeof item !== "object" || item === null || !("meta" in item.constructor)) return item;
  return keyOf(item, column);
}

function keyOf(instance: object, column: ColumnMeta): unknown {
  const key = (instance as Values)[column.attribute];
  if (key === undefined || key === null)
    throw new FieldError(`the instance of ${metaOf(instance).name} is not saved: it has no ${column.name}`);
  return key;
}

function condition(owner: object, relation: RelationMeta): ConditionNode {
  const { sourceColumns, targetColumns: columns, through } = relation;
  const keys = sourceColumns.map((column) => keyOf(owner, column));
  if (through) return { type: "member", relation, key: keys[0] };
  if (columns.length > 1) return { type: "keys", columns, keys: [keys] };
  return { type: "lookup", key: columns[0]!.attribute, value: keys[0] };
}
