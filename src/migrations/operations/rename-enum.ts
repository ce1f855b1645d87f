/**
 * Renames of enums and their values. PostgreSQL refers to both by number, so that columns and expressions follow a
 * rename; the states must follow it too.
 */

import type { ColumnState, TableState } from "../../orm/schema/state.js";
import { mapValues, tidyTable } from "../../orm/schema/tidy.js";
import { baseType, typeName } from "../../orm/schema/type-names.js";
import { mentions, renameTextIn, renameTypeIn } from "../files/sql-text.js";

export function renameEnumIn(table: TableState, from: string, to: string): TableState {
  const [old, now] = [typeName(from), typeName(to)];
  return changeSql(
    {
      ...table,
      columns: mapValues(table.columns, (column) =>
        baseType(column.type) === old ? { ...column, type: now + column.type.slice(old.length) } : column,
      ),
    },
    (sql) => renameTypeIn(sql, from, to),
  );
}

export function renameValueIn(table: TableState, type: string, from: string, to: string): TableState {
  const ofType = (column: ColumnState | undefined): boolean => baseType(column?.type ?? "") === typeName(type);
  const columns = Object.keys(table.columns).filter((name) => ofType(table.columns[name]));
  if (columns.length === 0) return table;
  return changeSql(table, (sql, owner) =>
    ofType(owner) || columns.some((column) => mentions(sql, column)) ? renameTextIn(sql, from, to) : sql,
  );
}

/** The table in which every expression is another; `owner` is the column whose default it is. */
function changeSql(table: TableState, change: (sql: string, owner?: ColumnState) => string): TableState {
  return tidyTable({
    ...table,
    columns: mapValues(table.columns, (column) => ({
      ...column,
      ...(column.default === undefined ? {} : { default: change(column.default, column) }),
      ...(column.generated === undefined ? {} : { generated: change(column.generated) }),
    })),
    checks: mapValues(table.checks ?? {}, (sql) => change(sql)),
    indexes: mapValues(table.indexes ?? {}, (index) => ({
      ...index,
      on: index.on.map((part) =>
        typeof part === "string" || part.expression === undefined
          ? part
          : { ...part, expression: change(part.expression) },
      ),
      ...(index.where === undefined ? {} : { where: change(index.where) }),
    })),
  });
}
