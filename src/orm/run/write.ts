import type { Compiled } from "../compile/compiler.js";
import { softDeleteColumn } from "../compile/query-parts.js";
import { noField } from "../compile/scope.js";
import { assignments, deleteStatement, returningPlan, updateStatement } from "../compile/write.js";
import { connectionFor } from "../database.js";
import { FieldError } from "../errors.js";
import type { ColumnMeta } from "../meta.js";
import type { Query } from "../nodes.js";
import { hydrate } from "./hydrate.js";
import { load } from "./load.js";
import { count } from "./read.js";
import { stateOf, type Values } from "./state.js";
import { keepStates } from "./undo.js";

/** The two forms of a write: the number of rows, or the rows themselves with these fields (null for all of them). */
export interface WriteForms {
  count(): Promise<number>;
  rows(fields: readonly string[] | null): Promise<unknown[]>;
}

/** Compiles a statement that writes rows, and returns these columns of them if they are given. */
type Compile = (returning?: readonly ColumnMeta[]) => Compiled;

/** Updates rows. Without values, nothing is written; the rows are only counted or read. */
export function update(query: Query, values: object): WriteForms {
  const changes = (): ReturnType<typeof assignments> => assignments(query.meta, values, "allowed");
  const forms = written(query, (returning) => updateStatement(query, changes(), returning), false);
  return {
    count: async () => (changes().length === 0 ? count(query) : forms.count()),
    rows: async (fields) => (changes().length === 0 ? unchanged(query, fields) : forms.rows(fields)),
  };
}

export function remove(query: Query, hard: boolean): WriteForms {
  const mark = hard ? undefined : softDeleteColumn(query.meta);
  const compile: Compile = (returning) =>
    mark ? updateStatement(query, [[mark, new Date()]], returning) : deleteStatement(query, returning);
  return written(query, compile, mark === undefined);
}

export function restore(query: Query): WriteForms {
  const compile: Compile = (returning) => {
    const mark = softDeleteColumn(query.meta);
    if (mark === undefined) throw new FieldError(`${query.meta.name} is not deleted softly: nothing can be restored`);
    return updateStatement({ ...query, deleted: "only" }, [[mark, null]], returning);
  };
  return written(query, compile, false);
}

/** The two forms of a statement. Instances of deleted rows are not in the database any more: `gone`. */
function written(query: Query, compile: Compile, gone: boolean): WriteForms {
  const { meta, db } = query;
  return {
    async count() {
      if (query.empty) return 0;
      const { text, params } = compile();
      return (await connectionFor(db).execute(text, params)).rowCount;
    },
    async rows(fields) {
      const columns = columnsOf(query, fields);
      if (query.empty) return [];
      const { text, params } = compile(columns);
      const connection = connectionFor(db);
      const part = keepStates(connection, []);
      const { rows } = await connection.fetchArrays(text, params);
      if (fields !== null) return rows.map((row) => plainRow(fields, columns, row));
      const instances = hydrate(rows, returningPlan(meta), { db, strict: query.strict });
      if (!gone || part.undone) return instances;
      keepStates(connection, instances);
      for (const instance of instances) stateOf(instance).saved = null;
      return instances;
    },
  };
}

async function unchanged(query: Query, fields: readonly string[] | null): Promise<unknown[]> {
  const columns = columnsOf(query, fields);
  if (query.empty) return [];
  const rows = (await load(query)) as Values[];
  if (fields === null) return rows;
  return rows.map((row) => Object.fromEntries(fields.map((name, i) => [name, row[columns[i]!.attribute]])));
}

function columnsOf({ meta }: Query, fields: readonly string[] | null): readonly ColumnMeta[] {
  if (fields === null) return meta.columns;
  return fields.map((name) => {
    const column = meta.column(name);
    if (column === undefined) throw noField(meta, name);
    return column;
  });
}

function plainRow(fields: readonly string[], columns: readonly ColumnMeta[], row: readonly unknown[]): Values {
  const values: Values = {};
  for (let i = 0; i < fields.length; i++) {
    const { decode } = columns[i]!.type;
    values[fields[i]!] = decode !== undefined && row[i] !== null ? decode(row[i]) : row[i];
  }
  return values;
}
