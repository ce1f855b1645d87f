/** Saves an instance together with changes of its related rows, in one transaction. */

import type { Queries } from "../../engines/db/database.js";
import { isPlainObject } from "../../kit/options.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import { keyText } from "../key-values.js";
import type { ModelMeta, RelationMeta } from "../meta.js";
import { createNested } from "../nested/create-nested.js";
import { linkTo } from "../nested/join-rows.js";
import { at, located, type Placed } from "../nested/located.js";
import { isInstance, join } from "../nested/parts.js";
import { QuerySet } from "../query/queryset.js";
import { bulkUpdate } from "../run/bulk.js";
import { runHooks } from "../run/hooks.js";
import { assign, changed, metaOf, type SaveOptions, save } from "../run/persist.js";
import { stateOf, type Values } from "../run/state.js";
import { keepStates } from "../run/undo.js";
import { RelatedSet, withKeys } from "./related-set.js";

const calls = ["set", "add", "remove", "delete", "update", "upsert", "create"] as const;
type Changes = { readonly [Call in (typeof calls)[number]]?: readonly unknown[] | undefined };

/** An item of the argument, with its place. */
interface Item {
  readonly value: unknown;
  readonly path: string;
}

/** A row that must belong to the owner. */
interface Named {
  readonly key: readonly unknown[];
  readonly path: string;
  /** True if it is created otherwise. */
  readonly mayBeNew?: boolean;
}

export async function saveRelated(instance: object, options: SaveOptions, related: object): Promise<void> {
  const meta = metaOf(instance);
  const home = options.using ?? stateOf(instance).db;
  const named = Object.entries(related).flatMap(([name, changes]) =>
    changes === undefined ? [] : [[relationOf(meta, name), checked(name, changes)] as const],
  );
  await connectionFor(home).transaction(async (tx) => {
    keepStates(tx, [instance]);
    await save(instance, { ...options, using: tx }, home);
    for (const [relation, changes] of named) await new Change(instance, relation, tx, home).run(changes);
  });
}

class Change {
  readonly #owner: object;
  readonly #relation: RelationMeta;
  readonly #db: Queries;
  readonly #home: Queries | null;
  readonly #rows: RelatedSet<object>;

  constructor(owner: object, relation: RelationMeta, db: Queries, home: Queries | null) {
    this.#owner = owner;
    this.#relation = relation;
    this.#db = db;
    this.#home = home;
    this.#rows = new RelatedSet<object>(owner, relation).inside(db, home);
  }

  async run(changes: Changes): Promise<void> {
    const { set, add = [] } = changes;
    const itemsOf = (call: keyof Changes): Item[] =>
      (changes[call] ?? []).map((value, index) => ({ value, path: `${join(this.#relation.name, call)}[${index}]` }));
    const [update, upsert, create] = [itemsOf("update"), itemsOf("upsert"), itemsOf("create")];
    if (set !== undefined) await this.#rows.set(set as never);
    await this.#rows.add(...(add as never[]));
    const owned = await this.#owned([
      ...[...itemsOf("remove"), ...itemsOf("delete")].map((item) => this.#named(item)),
      ...update.map((item) => this.#keyIn(item, "update")),
      ...upsert.map((item) => this.#keyIn(item, "upsert")).filter(({ key }) => isWhole(key)),
    ]);
    await this.#rows.remove(...((changes.remove ?? []) as never[]));
    if (changes.delete?.length) await this.#byKeys(changes.delete).delete();
    const isOwned = ({ value }: Item): boolean => owned.has(textOf(this.#keyOf(value as Values)));
    await this.#update([...update, ...upsert.filter(isOwned)], owned);
    await this.#create(
      upsert.filter((item) => !isOwned(item)),
      "upsert",
    );
    await this.#create(create, "create");
  }

  /** The rows with these keys, locked. */
  async #owned(named: readonly Named[]): Promise<ReadonlyMap<string, object>> {
    if (named.length === 0) return new Map();
    const { target, source } = this.#relation;
    const places = new Map<string, string>();
    for (const { key, path } of named) {
      const other = places.get(textOf(key));
      // The last change would win, and a change of a deleted row would be lost.
      if (other !== undefined) throw new FieldError(`${path} and ${other} are the same ${target.name}`);
      places.set(textOf(key), path);
    }
    const { query } = this.#byKeys(named.map(({ key }) => (key.length === 1 ? key[0] : key)));
    const rows = await new QuerySet<Values>({ ...query, lock: { strength: "update", wait: "wait" } }).toArray();
    const owned = new Map(rows.map((row) => [textOf(target.primaryKey.map(({ attribute }) => row[attribute])), row]));
    const other = named.find(({ key, mayBeNew }) => !mayBeNew && !owned.has(textOf(key)));
    if (other) throw new FieldError(`${other.path}: no such ${target.name} belongs to this ${source.name}`);
    return owned;
  }

  #byKeys(keys: readonly unknown[]): QuerySet<object> {
    const { query } = this.#rows;
    return new QuerySet<object>({ ...query, where: [...query.where, withKeys(this.#relation.target, keys)] });
  }

  /** Rows with changes of the same columns are written by one statement. */
  async #update(items: readonly Item[], owned: ReadonlyMap<string, object>): Promise<void> {
    const { target } = this.#relation;
    const keys = target.primaryKey.flatMap(({ attribute, name }) => [attribute, name]);
    const rows = items.map(({ value, path }): Placed => {
      const instance = owned.get(textOf(this.#keyOf(value as Values)))!;
      const values = Object.entries(this.#unclaimed(value as Values, path)).filter(([name]) => !keys.includes(name));
      keepStates(this.#db, [instance]);
      // With the key that leads to the owner, which another reference may hold too.
      at(path, () => assign(instance, target, { ...Object.fromEntries(values), ...this.#link }));
      return { instance, path };
    });
    for (const { instance } of rows) await runHooks(instance, "beforeSave", { created: false });
    const groups = new Map<string, Placed[]>();
    for (const row of rows) {
      const names = changed(row.instance, target).map(([column]) => column.name);
      if (names.length > 0) groups.set(names.join(), [...(groups.get(names.join()) ?? []), row]);
    }
    for (const [names, group] of groups) {
      const instances = group.map(({ instance }) => instance);
      await bulkUpdate(target, instances, names.split(","), undefined, this.#db).catch((error: unknown) => {
        throw located(target, group, error);
      });
    }
    for (const { instance } of rows) await runHooks(instance, "afterSave", { created: false });
  }

  async #create(items: readonly Item[], call: string): Promise<void> {
    if (items.length === 0) return;
    const { target, through, name } = this.#relation;
    const values = items.map(({ value, path }) => ({ ...this.#unclaimed(value as Values, path), ...this.#link }));
    const made = await createNested(target, values, this.#db, true, join(name, call), this.#home);
    if (through) await this.#rows.add(...(made as never[]));
  }

  /** The columns of a related row that lead to the owner. */
  get #link(): Values {
    return this.#relation.through ? {} : linkTo(this.#owner, this.#relation);
  }

  /** The values, which cannot hold the key that leads to the owner. */
  #unclaimed(values: Values, path: string): Values {
    const { targetColumns, through, source, name } = this.#relation;
    const set = through ? [] : targetColumns.flatMap((column) => [column.attribute, column.name]);
    const key = set.find((each) => values[each] !== undefined);
    if (key === undefined) return values;
    throw new FieldError(`${join(path, key)} is set by ${source.name}.${name}: leave it out`);
  }

  #named({ value, path }: Item): Named {
    const { primaryKey } = this.#relation.target;
    return {
      key: isInstance(value) ? primaryKey.map((each) => (value as Values)[each.attribute]) : [value].flat(),
      path,
    };
  }

  /** The key in the values of a row. */
  #keyIn({ value, path }: Item, call: "update" | "upsert"): Named {
    const { primaryKey } = this.#relation.target;
    if (!isPlainObject(value)) throw new FieldError(`${path} takes the values of a row`);
    const key = this.#keyOf(value);
    if (call === "update" && !isWhole(key)) {
      throw new FieldError(`${path} needs the key of the row: ${primaryKey.map(({ name }) => name).join(", ")}`);
    }
    // A number that the database gives stands for a row that exists.
    return { key, path, mayBeNew: call === "upsert" && !primaryKey.some((column) => column.autoIncrement) };
  }

  /** A part of the key can be the foreign key that leads to the owner. */
  #keyOf(values: Values): unknown[] {
    const { target, targetColumns, through } = this.#relation;
    const link = this.#link;
    return target.primaryKey.map((column) => {
      const isSet = !through && targetColumns.includes(column);
      return isSet ? link[column.attribute] : (values[column.attribute] ?? values[column.name]);
    });
  }
}

function isWhole(key: readonly unknown[]): boolean {
  return key.every((part) => part !== undefined && part !== null);
}

function textOf(key: readonly unknown[]): string {
  return JSON.stringify(key.map(keyText));
}

function relationOf(meta: ModelMeta, name: string): RelationMeta {
  const relation = meta.relations.get(name);
  if (relation === undefined || relation.single)
    throw new FieldError(`${meta.name} has no relation '${name}' to many rows`);
  return relation;
}

function checked(name: string, changes: unknown): Changes {
  if (!isPlainObject(changes)) throw new FieldError(`${name} takes an object of changes: ${calls.join(", ")}`);
  for (const [call, items] of Object.entries(changes)) {
    if (!(calls as readonly string[]).includes(call)) {
      throw new FieldError(`${join(name, call)} is no change of related rows: use ${calls.join(", ")}`);
    }
    if (items !== undefined && !Array.isArray(items)) throw new FieldError(`${join(name, call)} takes a list`);
  }
  return changes as Changes;
}
