/** Random conditions and values: each as a call of the ORM and as SQL written by hand. */

import type { Random } from "./seeded.js";
import { type Table, type Type, tables } from "./shop.js";

/** The rows that a condition or a value is about. */
export interface Subject {
  /** The model; relations can be followed from it. Null if the rows are only values. */
  readonly table: string | null;
  readonly columns: Readonly<Record<string, Type>>;
}

/** A call of the ORM, and SQL for the row with an alias. */
export interface Pair {
  readonly code: string;
  readonly sql: (at: string) => string;
}

export interface Value extends Pair {
  readonly type: Type;
  readonly isAggregate?: boolean;
}

let aliases = 0;
export const alias = (): string => `a${aliases++}`;

export const quoted = (name: string): string => `"${name}"`;
export const tableOf = (name: string): Table => tables[name]!;

/** A foreign key is named by its relation in paths: `author`, not `authorId`. */
export const pathName = (column: string): string => column.replace(/Id$/, "");

export interface Path {
  /** The relations to follow, from the model. */
  readonly relations: readonly string[];
  readonly column: string;
  readonly type: Type;
  readonly isMany: boolean;
}

export const codeOf = ({ relations, column }: Path): string => [...relations, pathName(column)].join("__");

/** A path to a column of the rows or of related rows. */
export function randomPath(random: Random, subject: Subject, many: boolean, deepest = 2): Path {
  const relations: string[] = [];
  let isMany = false;
  let { table, columns } = subject;
  while (table !== null && relations.length < deepest && random.chance(0.4)) {
    const { one, many: lists }: Table = tableOf(table);
    const names = [...Object.keys(one), ...(many ? Object.keys(lists) : [])];
    if (names.length === 0) break;
    const name = random.pick(names);
    relations.push(name);
    isMany ||= name in lists;
    table = (one[name] ?? lists[name])!.to;
    columns = tableOf(table).columns;
  }
  const column = random.pick(Object.keys(columns));
  return { relations, column, type: columns[column]!, isMany };
}

/** The value at the end of relations to one row, as a subselect for each step. */
export function scalar(table: string | null, at: string, relations: readonly string[], column: string): string {
  if (relations.length === 0) return `${at}.${quoted(column)}`;
  const last = relations.at(-1)!;
  const before = relations.slice(0, -1);
  const { to, key } = tableOf(endOf(table!, before)).one[last]!;
  const x = alias();
  return `(select ${x}.${quoted(column)} from (${tableOf(to).rows}) ${x} where ${x}.id = ${scalar(table, at, before, key)})`;
}

/** The model at the end of relations. */
export function endOf(table: string, relations: readonly string[]): string {
  return relations.reduce((from, name) => (tableOf(from).one[name] ?? tableOf(from).many[name])!.to, table);
}

const words = ["ann", "bo", "o", "book c", "book", "tag 3", "tag", "note 1", "1", "Rome", "", "z"];

export function literal(random: Random, type: Type): number | string | boolean {
  if (type === "text") return random.pick(words);
  if (type === "bool") return random.chance(0.5);
  return random.int(-1, 6);
}

export const sqlOf = (value: unknown): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

interface Lookup {
  readonly path: Path;
  readonly lookup: string;
  /** The value as code, and as SQL where the row that is filtered has the alias. */
  readonly code: string;
  readonly test: (left: string, filtered: string) => string;
}

/** A lookup on the existence of related rows has no column. */
const existence = "";

const operators: Readonly<Record<string, string>> = { exact: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" };

function randomLookup(random: Random, subject: Subject, many: boolean): Lookup {
  const path = randomPath(random, subject, many);
  const last = path.relations.at(-1);
  if (last !== undefined && subject.table !== null && random.chance(0.15)) {
    const owner = endOf(subject.table, path.relations.slice(0, -1));
    if (last in tableOf(owner).many) {
      const none = random.chance(0.5);
      const asNull = none && random.chance(0.5);
      return {
        path: { ...path, column: existence },
        lookup: asNull ? "exact" : "isnull",
        code: asNull ? "null" : String(none),
        test: (exists) => (none ? `not ${exists}` : exists),
      };
    }
  }
  return { path, ...comparison(random, subject, path.type) };
}

function comparison(random: Random, subject: Subject, type: Type): Omit<Lookup, "path"> {
  const value = literal(random, type);
  const code = JSON.stringify(value);
  const sql = sqlOf(value);
  const plain = (lookup: string, test: (left: string) => string): Omit<Lookup, "path"> => ({ lookup, code, test });
  if (type === "bool") return plain("exact", (left) => `${left} = ${sql}`);
  const choice = random.int(0, type === "text" ? 15 : 11);
  switch (choice) {
    case 0:
      return { lookup: "exact", code: "null", test: (left) => `${left} is null` };
    case 1:
      return plain("ne", (left) => `${left} is distinct from ${sql}`);
    case 2: {
      const none = random.chance(0.5);
      return { lookup: "isnull", code: String(none), test: (left) => `${left} is ${none ? "" : "not "}null` };
    }
    case 3: {
      const list = Array.from({ length: random.int(0, 3) }, () => literal(random, type));
      const withNull = random.chance(0.3);
      return {
        lookup: "in",
        code: JSON.stringify(withNull ? [...list, null] : list),
        test: (left) =>
          ["false", ...list.map((each) => `${left} = ${sqlOf(each)}`), ...(withNull ? [`${left} is null`] : [])].join(
            " or ",
          ),
      };
    }
    case 4: {
      const other = literal(random, type);
      return {
        lookup: "range",
        code: JSON.stringify([value, other]),
        test: (left) => `${left} >= ${sql} and ${left} <= ${sqlOf(other)}`,
      };
    }
    case 5:
    case 6: {
      const other = randomPath(random, subject, false);
      if (other.type !== type) return plain("exact", (left) => `${left} = ${sql}`);
      const lookup = random.pick(["ne", ...Object.keys(operators)]);
      return {
        lookup,
        code: `F(${JSON.stringify(codeOf(other))})`,
        test: (left, filtered) =>
          `${left} ${operators[lookup] ?? "is distinct from"} ${scalar(subject.table, filtered, other.relations, other.column)}`,
      };
    }
    case 12:
      return plain("contains", (left) => `position(${sql} in ${left}) > 0`);
    case 13:
      return plain("istartswith", (left) => `lower(left(${left}, ${String(value).length})) = lower(${sql})`);
    case 14:
      return plain("endswith", (left) => `right(${left}, ${String(value).length}) = ${sql} `);
    case 15:
      return plain("iexact", (left) => `lower(${left}) = lower(${sql})`);
    default: {
      const lookup = random.pick(Object.keys(operators));
      return plain(lookup, (left) => `${left} ${operators[lookup]} ${sql}`);
    }
  }
}

/** Lookups of one object: all hold, and those on the same related rows hold for one of them. */
export function lookups(random: Random, subject: Subject, many = true): Pair {
  const list = new Map<string, Lookup>();
  for (let left = random.pick([1, 1, 2, 3]); left > 0; left--) {
    const made = randomLookup(random, subject, many);
    const path = made.path.column === existence ? made.path.relations.join("__") : codeOf(made.path);
    list.set(made.lookup === "exact" ? path : `${path}__${made.lookup}`, made);
  }
  const code = [...list].map(([key, { code: value }]) => `${JSON.stringify(key)}: ${value}`).join(", ");
  return { code: `{ ${code} }`, sql: (at) => allOf([...list.values()], subject.table, at, at) };
}

function allOf(list: readonly Lookup[], table: string | null, at: string, filtered: string): string {
  const parts: string[] = ["true"];
  const groups = new Map<string, Lookup[]>();
  for (const each of list) {
    const { relations, column } = each.path;
    const first = relations.findIndex((name, index) => name in tableOf(endOf(table!, relations.slice(0, index))).many);
    if (first === -1) {
      parts.push(each.test(scalar(table, at, relations, column), filtered));
      continue;
    }
    if (first === relations.length - 1 && column === existence) {
      const { rows, key } = related(table!, at, relations);
      const x = alias();
      parts.push(each.test(`exists (select 1 from (${rows}) ${x} where ${x}."@owner" = ${key})`, filtered));
      continue;
    }
    const name = relations.slice(0, first + 1).join("__");
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  for (const [name, group] of groups) {
    const relations = name.split("__");
    const { rows, key, to } = related(table!, at, relations);
    const x = alias();
    const inner = group.map((each) => ({
      ...each,
      path: { ...each.path, relations: each.path.relations.slice(relations.length) },
    }));
    parts.push(
      `exists (select 1 from (${rows}) ${x} where ${x}."@owner" = ${key} and (${allOf(inner, to, x, filtered)}))`,
    );
  }
  return parts.map((part) => `(${part})`).join(" and ");
}

/** The rows of a relation to many at the end of relations to one, and the key of their owner. */
export function related(
  table: string,
  at: string,
  relations: readonly string[],
): { readonly rows: string; readonly key: string; readonly to: string } {
  const before = relations.slice(0, -1);
  const { rows, to } = tableOf(endOf(table, before)).many[relations.at(-1)!]!;
  return { rows, to, key: scalar(table, at, before, "id") };
}

/** A condition: lookups, or several of them combined. */
export function condition(random: Random, subject: Subject, depth = 2): Pair {
  if (depth === 0 || random.chance(0.6)) return lookups(random, subject);
  const { table } = subject;
  switch (random.int(0, table === null ? 2 : 4)) {
    case 0: {
      const inner = condition(random, subject, depth - 1);
      return { code: `Q.not(${inner.code})`, sql: (at) => `(${inner.sql(at)}) is not true` };
    }
    case 1: {
      const [a, b] = [condition(random, subject, depth - 1), condition(random, subject, depth - 1)];
      return { code: `Q.or(${a.code}, ${b.code})`, sql: (at) => `(${a.sql(at)}) or (${b.sql(at)})` };
    }
    case 2: {
      const [a, b] = [condition(random, subject, depth - 1), condition(random, subject, depth - 1)];
      return { code: `Q.and(Q(${plainOr(a)}), ${b.code})`, sql: (at) => `(${a.sql(at)}) and (${b.sql(at)})` };
    }
    case 3: {
      const { code, sql } = existsOf(random, table!, depth - 1);
      return { code, sql };
    }
    default: {
      // A subquery for the rows that a foreign key may lead to.
      const keys = Object.entries(tableOf(table!).one);
      if (keys.length === 0) return lookups(random, subject);
      const [name, { to, key }] = random.pick(keys);
      const inner = condition(random, { table: to, columns: tableOf(to).columns }, depth - 1);
      const x = alias();
      return {
        code: `{ ${name}__in: ${to}.objects.filter(${inner.code}) }`,
        sql: (at) => `${at}.${quoted(key)} in (select ${x}.id from (${tableOf(to).rows}) ${x} where ${inner.sql(x)})`,
      };
    }
  }
}

/** `Q` takes lookups only; others are conditions already. */
const plainOr = ({ code }: Pair): string => (code.startsWith("{") ? code : `{}).and(${code}`);

/** True if there are rows that refer to the row, and for which a condition holds. */
export function existsOf(random: Random, table: string, depth: number): Pair {
  const refering = Object.entries(tables).flatMap(([from, { one }]) =>
    Object.entries(one).flatMap(([name, { to, key }]) => (to === table ? [{ from, name, key }] : [])),
  );
  if (refering.length === 0) return lookups(random, { table, columns: tableOf(table).columns });
  const { from, name, key } = random.pick(refering);
  const inner = condition(random, { table: from, columns: tableOf(from).columns }, depth);
  const x = alias();
  return {
    code: `exists(${from}.objects.filter({ ${name}: outer("id") }).filter(${inner.code}))`,
    sql: (at) =>
      `exists (select 1 from (${tableOf(from).rows}) ${x} where ${x}.${quoted(key)} = ${at}.id and (${inner.sql(x)}))`,
  };
}

const argument = (path: Path): string => JSON.stringify(codeOf(path));

/** A path to a column of a type. */
function typedPath(random: Random, subject: Subject, type: Type, many = false): Path | undefined {
  for (let tries = 0; tries < 8; tries++) {
    const path = randomPath(random, subject, many);
    if (path.type === type) return path;
  }
  return undefined;
}

/** A value for each row. */
export function value(random: Random, subject: Subject): Value {
  const number = typedPath(random, subject, "int");
  const { table } = subject;
  const at1 =
    ({ relations, column }: Path) =>
    (at: string) =>
      scalar(table, at, relations, column);
  switch (random.int(0, table === null ? 3 : 8)) {
    case 0: {
      if (number === undefined) break;
      const operator = random.pick(["plus", "minus", "times"] as const);
      const sign = { plus: "+", minus: "-", times: "*" }[operator];
      const other = random.chance(0.5) ? typedPath(random, subject, "int") : undefined;
      const by = random.int(1, 3);
      return {
        type: "int",
        code: `F(${argument(number)}).${operator}(${other ? `F(${argument(other)})` : by})`,
        sql: (at) => `(${at1(number)(at)} ${sign} ${other ? at1(other)(at) : by})`,
      };
    }
    case 1: {
      if (number === undefined) break;
      const otherwise = random.int(0, 3);
      return {
        type: "int",
        code: `coalesce(${argument(number)}, ${otherwise})`,
        sql: (at) => `coalesce(${at1(number)(at)}, ${otherwise})`,
      };
    }
    case 2: {
      const when = condition(random, subject, 1);
      return {
        type: "text",
        code: `when(${when.code}, "yes").otherwise("no")`,
        sql: (at) => `case when ${when.sql(at)} then 'yes' else 'no' end`,
      };
    }
    case 3: {
      const text = typedPath(random, subject, "text");
      if (text === undefined) break;
      return { type: "text", code: `upper(${argument(text)})`, sql: (at) => `upper(${at1(text)(at)})` };
    }
    case 4: {
      const { code, sql } = existsOf(random, table!, 1);
      if (!code.startsWith("exists(")) break;
      return { type: "bool", code, sql };
    }
    default:
      for (let tries = 0; tries < 5; tries++) {
        const made = manyAggregate(random, table!);
        if (made !== undefined) return made;
      }
  }
  const path = randomPath(random, subject, false);
  return { type: path.type, code: `F(${argument(path)})`, sql: at1(path) };
}

/** An aggregate over a relation to many of the row. */
export function manyAggregate(random: Random, table: string): Value | undefined {
  const path = randomPath(random, { table, columns: tableOf(table).columns }, true);
  const first = path.relations.findIndex(
    (name, index) => name in tableOf(endOf(table, path.relations.slice(0, index))).many,
  );
  if (first !== path.relations.length - 1 || first === -1) return undefined;
  const of = { ...path, column: path.column };
  const { to } = related(table, "", path.relations);
  const { name, sql, type, counts } = aggregateOf(random, of);
  const filter = random.chance(0.4) ? lookups(random, { table: to, columns: tableOf(to).columns }) : undefined;
  const code = counts ? `count("${path.relations.join("__")}")` : `${name}(${argument(of)})`;
  return {
    type,
    isAggregate: true,
    code: filter ? `${code}.filter(${filter.code})` : code,
    sql: (at) => {
      const { rows, key } = related(table, at, path.relations);
      const x = alias();
      const where = filter ? ` and (${filter.sql(x)})` : "";
      const call = counts ? "count(*)" : sql(`${x}.${quoted(of.column)}`);
      return `(select ${call} from (${rows}) ${x} where ${x}."@owner" = ${key}${where})`;
    },
  };
}

interface Aggregate {
  readonly name: string;
  readonly sql: (argument: string) => string;
  readonly type: Type;
  readonly counts?: boolean;
}

/** An aggregate function for a column. */
export function aggregateOf(random: Random, { type }: { readonly type: Type }): Aggregate {
  const call = (name: string, result: Type): Aggregate => ({ name, sql: (of) => `${name}(${of})`, type: result });
  if (random.chance(0.3)) return { ...call("count", "int"), counts: true };
  if (random.chance(0.2)) return call("count", "int");
  if (type === "bool") return call("count", "int");
  if (type === "text" || random.chance(0.4)) return call(random.pick(["min", "max"]), type);
  return random.chance(0.7) ? call("sum", "int") : call("avg", "float");
}
