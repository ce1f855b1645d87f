import type {
  ColumnState,
  ForeignKeyState,
  IndexState,
  SchemaState,
  TableState,
  UniqueState,
} from "../../src/orm/schema/state.js";
import { tidyState } from "../../src/orm/schema/tidy.js";
import fc from "../support/properties.js";

/** Schemas that PostgreSQL takes, small enough to have much in common: two of them are a change of every kind. */

const values = ["sad", "glad", "calm", "it's"];

type Pick = <T>(list: readonly T[]) => T;
interface Dice {
  readonly pick: Pick;
  readonly chance: (percent: number) => boolean;
  readonly some: <T>(list: readonly T[], most: number) => T[];
}

export const randomState: fc.Arbitrary<SchemaState> = fc.infiniteStream(fc.nat(9_999)).map((stream) => {
  const roll = (): number => stream.next().value as number;
  const pick: Pick = (list) => list[roll() % list.length]!;
  const some: Dice["some"] = (list, most) => {
    const count = 1 + (roll() % most);
    const start = roll();
    return [...new Set(Array.from({ length: count }, (_, index) => list[(start + index * 3) % list.length]!))];
  };
  return build({ pick, some, chance: (percent) => roll() % 100 < percent });
});

function build(dice: Dice): SchemaState {
  const enums: Record<string, string[]> = {};
  if (dice.chance(70)) enums["mood"] = values.filter((value) => value === "sad" || dice.chance(60));
  if (dice.chance(30)) enums["shop.Size"] = dice.chance(50) ? ["s", "l"] : ["l", "s", "m"];
  const tables: Record<string, TableState> = {};
  for (const name of ["authors", "books", "shop.lines", "order"]) {
    if (dice.chance(75)) tables[name] = table(dice, name, Object.keys(enums));
  }
  for (const name of Object.keys(tables))
    tables[name] = { ...tables[name]!, foreignKeys: foreignKeys(dice, name, tables) };
  return tidyState({ tables, enums });
}

function table(dice: Dice, name: string, enums: readonly string[]): TableState {
  const id: ColumnState = dice.pick([
    { type: "integer", identity: true },
    { type: "bigint", identity: true },
    { type: "integer" },
    { type: "text" },
  ]);
  const columns: Record<string, ColumnState> = { id };
  for (const column of ["title", "year", "kind", "author_id", "line id"]) {
    if (dice.chance(65)) columns[column] = plainColumn(dice, column, enums);
  }
  const text = Object.keys(columns).find((each) => columns[each]!.type === "text" && each !== "id");
  if (text !== undefined && dice.chance(40))
    columns["low"] = { type: "text", nullable: true, generated: `lower("${text}")` };
  return {
    columns,
    primaryKey: dice.chance(85) ? key(dice, columns) : [],
    ...(dice.chance(15) && { primaryKeyName: `pk_${short(name)}` }),
    unique: Object.fromEntries(uniques(dice, name, columns)),
    checks: Object.fromEntries(checks(dice, name, columns)),
    indexes: Object.fromEntries(indexes(dice, name, columns)),
    ...(dice.chance(20) && { comment: dice.pick(["It's a table", "Rows \\ here"]) }),
  };
}

function plainColumn(dice: Dice, name: string, enums: readonly string[]): ColumnState {
  const types =
    name === "author_id"
      ? ["integer", "bigint", "text"]
      : ["integer", "text", "varchar(20)", "boolean", "numeric(6, 2)"];
  const type = name === "kind" && enums.length > 0 ? enumType(dice.pick(enums)) : dice.pick(types);
  return {
    type,
    nullable: dice.chance(40),
    ...(dice.chance(40) && { default: defaultFor(type) }),
    ...(type === "text" && dice.chance(15) && { collation: "C" }),
    ...(dice.chance(15) && { comment: dice.pick(["One", "Two"]) }),
  };
}

function enumType(name: string): string {
  return name === "mood" ? "mood" : 'shop."Size"';
}

function defaultFor(type: string): string {
  if (type === "mood") return "'sad'::mood";
  if (type.startsWith("shop")) return `'l'::shop."Size"`;
  return type === "boolean" ? "true" : type === "text" || type.startsWith("varchar") ? "'none'" : "7";
}

function key(dice: Dice, columns: Record<string, ColumnState>): string[] {
  const other = columns["year"];
  return other && !other.nullable && dice.chance(30) ? ["id", "year"] : ["id"];
}

function uniques(dice: Dice, table: string, columns: Record<string, ColumnState>): [string, UniqueState][] {
  if (dice.chance(40)) return [];
  const on = dice.some(Object.keys(columns), 2);
  const name = dice.chance(70) ? `${short(table)}_${on.join("_")}_key` : `${short(table)}_only_one`;
  return [[name, { columns: on }]];
}

function checks(dice: Dice, table: string, columns: Record<string, ColumnState>): [string, string][] {
  const found: [string, string][] = [];
  for (const [column, { type }] of Object.entries(columns)) {
    if (!dice.chance(25)) continue;
    const name = `${short(table)}_${column}_check`;
    if (type === "integer" || type === "bigint")
      found.push([name, dice.pick([`"${column}" > 0`, `"${column}" >= -1`])]);
    if (type === "text") found.push([name, `length("${column}") < 100 AND "${column}" <> 'year'`]);
    if (type === "mood") found.push([name, `"${column}" <= 'sad'`]);
  }
  return found;
}

function indexes(dice: Dice, table: string, columns: Record<string, ColumnState>): [string, IndexState][] {
  const names = Object.keys(columns);
  const found: [string, IndexState][] = [];
  if (dice.chance(50)) {
    const on = dice.some(names, 2);
    found.push([`${short(table)}_${on.join("_")}_idx`, { on, ...(dice.chance(30) && { include: ["id"] }) }]);
  }
  const text = names.find((name) => columns[name]!.type === "text");
  if (text !== undefined && dice.chance(40)) {
    const where = dice.chance(50) ? { where: `"${text}" IS NOT NULL` } : {};
    found.push([
      `${short(table)}_by_text`,
      { on: [{ expression: `upper("${text}")`, descending: dice.chance(50) }], ...where },
    ]);
  }
  const year = columns["year"]?.type === "integer";
  if (year && dice.chance(30))
    found.push([`${short(table)}_recent`, { on: ["year"], where: "year > 2000", unique: dice.chance(50) }]);
  return found;
}

function foreignKeys(
  dice: Dice,
  name: string,
  tables: Readonly<Record<string, TableState>>,
): Record<string, ForeignKeyState> {
  const column = tables[name]!.columns["author_id"];
  const family = (type: string): string => (type === "text" ? "text" : "number");
  const targets = Object.keys(tables).filter((each) => {
    const { primaryKey = [], columns } = tables[each]!;
    return primaryKey.length === 1 && column && family(columns["id"]!.type) === family(column.type);
  });
  if (!column || targets.length === 0 || dice.chance(30)) return {};
  const key = dice.chance(80) ? `${short(name)}_author_id_fkey` : `${short(name)}_author`;
  const rules = dice.pick<Partial<ForeignKeyState>>([
    {},
    { onDelete: "cascade" },
    { deferred: true },
    { onUpdate: "restrict" },
  ]);
  return { [key]: { columns: ["author_id"], table: dice.pick(targets), references: ["id"], ...rules } };
}

function short(table: string): string {
  return table.slice(table.indexOf(".") + 1);
}
