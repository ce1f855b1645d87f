import { snakeCase } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";
import type { ManyToManyOptions } from "../fields/definition.js";
import { qualified, shortName } from "../identifiers.js";
import type { ColumnMeta, ModelMeta, RelationMeta } from "../meta.js";
import { foreignColumn, targetMeta } from "./columns.js";
import { singularWords, wordsOf } from "./words.js";

/** The join table of a many-to-many relation: the model named by `through`, or a table made for the relation. */
export function throughTable(
  source: ModelMeta,
  target: ModelMeta,
  name: string,
  options: ManyToManyOptions,
): NonNullable<RelationMeta["through"]> {
  const owner = `${source.name}.${name}`;
  if (options.through === undefined) return automaticTable(source, target, name, options.table);
  const meta = targetMeta(`${owner} (through)`, options.through);
  const [first, second] = options.throughFields ?? [undefined, undefined];
  const sourceColumn = keyTo(owner, meta, source, first, undefined);
  const targetColumn = keyTo(owner, meta, target, second, sourceColumn);
  return { meta, sourceColumn, targetColumn, own: false };
}

function keyTo(
  owner: string,
  through: ModelMeta,
  to: ModelMeta,
  field: string | undefined,
  taken: ColumnMeta | undefined,
): ColumnMeta {
  const leads = (column: ColumnMeta | undefined): boolean => column?.reference?.target.sqlName === to.sqlName;
  if (field !== undefined) {
    const column = through.column(field);
    if (column && leads(column)) return column;
    throw new ValueError(`${owner}: ${through.name}.${field} is no foreign key to ${to.name}`);
  }
  const found = through.columns.filter((column) => column !== taken && leads(column));
  if (found.length === 1) return found[0]!;
  throw new ValueError(
    found.length === 0
      ? `${owner}: ${through.name} has no foreign key to ${to.name}`
      : `${owner}: ${through.name} has several foreign keys to ${to.name}: name the two with 'throughFields'`,
  );
}

/**
 * The two columns of a join table, named after the tables in the singular: `product_id` and `tag_id` between `products`
 * and `tags`. The names come from tables, not from classes: a class that only extends the result of `Model` is unknown
 * until its first use, and names must not depend on which model is used first.
 */
export function joinColumns(source: string, target: string, self: boolean): readonly [string, string] {
  const [from, to] = [source, target].map((table) => singularWords(wordsOf(table)).join("_")) as [string, string];
  if (self || from === to || from === "" || to === "") return ["from_id", "to_id"];
  return [shortName(`${from}_id`), shortName(`${to}_id`)];
}

function automaticTable(
  source: ModelMeta,
  target: ModelMeta,
  name: string,
  table: string | undefined,
): NonNullable<RelationMeta["through"]> {
  const tableName = table ?? shortName(`${source.table}_${snakeCase(name)}`);
  const make = (column: string, index: number, to: ModelMeta): ColumnMeta =>
    foreignColumn(tableName, column.replace(/_id$/, ""), index, {
      form: "toOne",
      target: () => to.model,
      one: false,
      // The index of the primary key already starts with the first column.
      options: { column, primaryKey: true, index: false },
    });
  const [from, to] = joinColumns(source.table, target.table, source.sqlName === target.sqlName);
  const sourceColumn = make(from, 0, source);
  const targetColumn = make(to, 1, target);
  const columns = [sourceColumn, targetColumn];
  const meta: ModelMeta = {
    name: tableName,
    table: tableName,
    schema: source.schema,
    sqlName: qualified(source.schema, tableName),
    columns,
    primaryKey: columns,
    relations: new Map(),
    foreignKeys: [],
    indexes: [
      {
        name: shortName(`${tableName}_${targetColumn.column}_idx`),
        parts: [{ column: targetColumn.column }],
        unique: false,
        method: "btree",
        nullsNotDistinct: false,
        where: undefined,
        include: [],
      },
    ],
    checks: [],
    uniques: [],
    ordering: [],
    comment: undefined,
    managed: source.managed,
    view: undefined,
    renamedFrom: undefined,
    automatic: true,
    column: (wanted) =>
      columns.find((each) => each.name === wanted || each.attribute === wanted || each.column === wanted),
    get model(): never {
      throw new ValueError(
        `${tableName} was made for ${source.name}.${name} and has no class; name one with 'through'`,
      );
    },
  };
  return { meta, sourceColumn, targetColumn, own: true };
}
