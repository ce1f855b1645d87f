import { checkedOptions } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { type Concurrently, createIndexSql, dropIndexSql } from "../../orm/schema/render.js";
import type { IndexState, SchemaState, TableState } from "../../orm/schema/state.js";
import { tidyTable } from "../../orm/schema/tidy.js";
import { checkIndex, checkNewName, checkReferrers } from "../fit.js";
import { findTable, missing, own, put, renameKey, withTable } from "../lookup.js";
import type { Operation } from "../operation.js";
import { define } from "./define.js";
import { readIndex, readName, readQualifiedName } from "./read.js";
import { renamePartSql } from "./rename-parts.js";

const concurrentlyOptions = checkedOptions<Concurrently>({ concurrently: is.boolean });

/** Creates an index. `concurrently` does not block writes, and needs a migration with `transaction: false`. */
export function createIndex(table: string, name: string, index: IndexState, options: Concurrently = {}): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of an index", name);
  const state = readIndex(`the index ${name} of ${table}`, index);
  const concurrently = readConcurrently(`createIndex ${name}`, options);
  return define({
    source: ["createIndex", table, name, state, concurrently],
    description: `create index ${name} on ${table}${concurrently.concurrently ? ", concurrently" : ""}`,
    transactional: !concurrently.concurrently,
    apply(before) {
      const target = findTable(before, table);
      checkNewName(table, target, name);
      checkIndex(table, target, state);
      return withTable(before, table, { ...target, indexes: put(target.indexes, name, state) });
    },
    up: () => createStatements(table, name, state, concurrently),
    down: () => [dropIndexSql(table, name, concurrently)],
  });
}

export function dropIndex(table: string, name: string, options: Concurrently = {}): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of an index", name);
  const concurrently = readConcurrently(`dropIndex ${name}`, options);
  return define({
    source: ["dropIndex", table, name, concurrently],
    description: `drop index ${name} of ${table}${concurrently.concurrently ? ", concurrently" : ""}`,
    transactional: !concurrently.concurrently,
    apply(before) {
      findIndex(before, table, name);
      const target = findTable(before, table);
      const after = withTable(before, table, tidyTable({ ...target, indexes: put(target.indexes, name, undefined) }));
      checkReferrers(before, after, table);
      return after;
    },
    up: () => [dropIndexSql(table, name, concurrently)],
    down: (before) => createStatements(table, name, findIndex(before, table, name), concurrently),
  });
}

export function renameIndex(table: string, from: string, to: string): Operation {
  readQualifiedName("the name of a table", table);
  readName("the name of an index", from);
  readName("the new name of an index", to);
  return define({
    source: ["renameIndex", table, from, to],
    description: `rename index ${from} of ${table} to ${to}`,
    apply(before) {
      findIndex(before, table, from);
      const target = findTable(before, table);
      checkNewName(table, target, to);
      return withTable(before, table, { ...target, indexes: renameKey(target.indexes!, from, to) });
    },
    up: () => [renamePartSql(table, { kind: "index", from, to })],
    down: () => [renamePartSql(table, { kind: "index", from: to, to: from })],
  });
}

/** An earlier attempt that failed half-way leaves an index that nothing uses: it is dropped first. */
function createStatements(table: string, name: string, index: IndexState, options: Concurrently): string[] {
  const create = createIndexSql(table, name, index, options);
  return options.concurrently ? [dropIndexSql(table, name, { ...options, ifExists: true }), create] : [create];
}

function findIndex(state: SchemaState, table: string, name: string): IndexState {
  const { indexes = {} }: TableState = findTable(state, table);
  const index = own(indexes, name);
  if (index === undefined) throw missing(`${table} has no index '${name}'`, name, indexes);
  return index;
}

function readConcurrently(owner: string, given: unknown): Concurrently {
  return concurrentlyOptions(owner, given).concurrently ? { concurrently: true } : {};
}
