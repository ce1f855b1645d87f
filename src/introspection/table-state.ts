import { usualCheckName, usualPrimaryKeyName } from "../orm/schema/names.js";
import type {
  ColumnState,
  ForeignKeyState,
  IndexMethod,
  IndexPart,
  IndexState,
  ReferentialRule,
  TableState,
} from "../orm/schema/state.js";
import { normalizeType, typeName } from "../orm/schema/type-names.js";
import type { ColumnRow, ConstraintRow, IndexPartRow, IndexRow } from "./catalog.js";
import { type CatalogEntry, catalogName, hasDot, shown } from "./names.js";
import { withoutParentheses } from "./sql-text.js";

/** The state of a table, from the rows of the catalogs that are about it. */
export function tableState(
  name: string,
  columns: readonly ColumnRow[],
  constraints: readonly ConstraintRow[],
  indexes: readonly IndexRow[],
  comment: string | null,
): TableState {
  const ofKind = (kind: ConstraintRow["kind"]): ConstraintRow[] => constraints.filter((row) => row.kind === kind);
  const primaryKey = ofKind("p")[0];
  return {
    columns: byName(columns, columnState),
    ...(primaryKey ? { primaryKey: primaryKey.columns ?? [] } : {}),
    ...(primaryKey && primaryKey.name !== usualPrimaryKeyName(name) ? { primaryKeyName: primaryKey.name } : {}),
    ...group(
      "unique",
      byName(ofKind("u"), (row) => ({
        columns: row.columns ?? [],
        ...(row.nullsNotDistinct ? { nullsNotDistinct: true } : {}),
      })),
    ),
    // A table with a dot in its name has no name in a state.
    ...group(
      "foreignKeys",
      byName(
        ofKind("f").filter((row) => !hasDot(targetOf(row))),
        foreignKeyState,
      ),
    ),
    ...group("checks", {
      ...Object.fromEntries(columns.flatMap((row) => domainChecks(name, row))),
      ...byName(ofKind("c"), (row) => withoutParentheses(row.expression ?? "")),
    }),
    ...group("indexes", byName(indexes.filter(isTold), indexState)),
    ...(comment === null ? {} : { comment }),
  };
}

/** Sentences about parts of a table that its state cannot express. */
export function leftOutOf(
  columns: readonly ColumnRow[],
  constraints: readonly ConstraintRow[],
  indexes: readonly IndexRow[],
): string[] {
  return [
    ...columns
      .filter((row) => row.itemChecked)
      .map(({ name, itemDomain }) => `The conditions of ${itemDomain} for the items of ${shown(name)} are left out.`),
    ...constraints
      .filter((row) => row.kind === "x")
      .map(({ name, definition }) => `The constraint ${shown(name)} is left out: ${definition}.`),
    ...constraints
      .filter(({ kind, deferrable, deferred }) => kind !== "x" && deferrable && !(kind === "f" && deferred))
      .map(({ name, definition }) => `The constraint ${shown(name)} is not deferrable here: ${definition}.`),
    ...indexes
      .filter((row) => !isTold(row))
      .map(({ name, method }) => `The index ${shown(name)} is left out: its method is ${shown(method)}.`),
  ];
}

/** The conditions of a column's domain as checks of its table. A database without the domain has them as such. */
function domainChecks(table: string, { name, domainChecks: checks }: ColumnRow): [string, string][] {
  return (checks ?? []).map((sql, at) => {
    const subject = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\bVALUE\b/g, (part) =>
      part === "VALUE" ? typeName(name) : part,
    );
    const ending = usualCheckName(table, name, "check");
    return [at === 0 ? ending : `${ending}${at}`, withoutParentheses(subject)];
  });
}

function columnState(row: ColumnRow): ColumnState {
  return {
    type: normalizeType(row.type),
    ...(row.required ? {} : { nullable: true }),
    ...(row.expression !== null && !row.generated ? { default: withoutDomain(row.expression, row) } : {}),
    ...(row.identity ? { identity: true } : {}),
    ...(row.expression !== null && row.generated ? { generated: withoutParentheses(row.expression) } : {}),
    ...(row.collation === null ? {} : { collation: row.collation }),
    ...(row.comment === null ? {} : { comment: row.comment }),
  };
}

/** The default of an array without casts to the domain of its items, as PostgreSQL writes it for the type beneath. */
function withoutDomain(sql: string, { itemDomain, itemBase }: ColumnRow): string {
  if (itemDomain === null) return sql;
  const parts = /'(?:[^']|'')*'|\(('(?:[^']|'')*'::[\w ".]+)\)::([\w$".]+)|::([\w$".]+)(\[\])?/g;
  return sql.replace(parts, (part, literal?: string, outer?: string, type?: string, dimension?: string) => {
    if (outer === itemDomain) return literal!;
    if (type !== itemDomain) return part;
    return dimension === undefined ? "" : `::${itemBase}${dimension}`;
  });
}

const rules: Readonly<Record<string, ReferentialRule>> = {
  c: "cascade",
  r: "restrict",
  n: "set null",
  d: "set default",
};

function foreignKeyState(row: ConstraintRow): ForeignKeyState {
  const onDelete = rules[row.onDelete];
  const onUpdate = rules[row.onUpdate];
  return {
    columns: row.columns ?? [],
    table: catalogName(targetOf(row)),
    references: row.targetColumns ?? [],
    ...(onDelete ? { onDelete } : {}),
    ...(onUpdate ? { onUpdate } : {}),
    ...(row.onDeleteColumns ? { onDeleteColumns: row.onDeleteColumns } : {}),
    ...(row.matchFull ? { matchFull: true } : {}),
    ...(row.deferred ? { deferred: true } : {}),
  };
}

function targetOf(row: ConstraintRow): CatalogEntry {
  return { schema: row.targetSchema!, name: row.targetName!, visible: row.targetVisible! };
}

const methods: readonly string[] = ["btree", "hash", "gin", "gist", "brin", "spgist"] satisfies IndexMethod[];

/** False for index methods of extensions that a state cannot express. */
function isTold(row: IndexRow): boolean {
  return methods.includes(row.method);
}

function indexState(row: IndexRow): IndexState {
  return {
    on: row.parts.map(indexPart),
    ...(row.unique ? { unique: true } : {}),
    ...(row.method === "btree" ? {} : { method: row.method as IndexMethod }),
    ...(row.nullsNotDistinct ? { nullsNotDistinct: true } : {}),
    ...(row.where === null ? {} : { where: withoutParentheses(row.where) }),
    ...(row.include ? { include: row.include } : {}),
  };
}

function indexPart(row: IndexPartRow): string | IndexPart {
  const nulls = row.nullsFirst ? "first" : "last";
  const usual = row.descending ? "first" : "last";
  const options = {
    ...(row.descending ? { descending: true } : {}),
    ...(nulls === usual ? {} : { nulls: nulls as "first" | "last" }),
    ...(row.operatorClass === null ? {} : { operatorClass: row.operatorClass }),
  };
  const plain = row.column !== null && row.collation === null;
  if (plain && Object.keys(options).length === 0) return row.column;
  if (plain) return { column: row.column, ...options };
  const expression = withoutParentheses(row.expression);
  // PostgreSQL takes a column with a collation for the column itself, in parentheses too.
  return { expression: row.collation === null ? expression : collated(row, expression), ...options };
}

function collated(row: IndexPartRow, expression: string): string {
  return `${row.column === null ? `(${expression})` : expression} COLLATE ${row.collation}`;
}

function byName<R extends { readonly name: string }, T>(rows: readonly R[], state: (row: R) => T): Record<string, T> {
  return Object.fromEntries(rows.map((row) => [row.name, state(row)]));
}

/** Leaves out what is empty. */
function group<K extends string, T>(name: K, members: Record<string, T>): { [P in K]?: Record<string, T> } {
  return (Object.keys(members).length === 0 ? {} : { [name]: members }) as { [P in K]?: Record<string, T> };
}
