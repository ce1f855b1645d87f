/**
 * Random chains of calls on a queryset, each with SQL written by hand: every call is a SELECT around the SELECT of the
 * calls before it. The column `"#"` is the place of a row in the order, null without one.
 */

import {
  aggregateOf,
  alias,
  codeOf,
  condition,
  endOf,
  type Path,
  pathName,
  quoted,
  randomPath,
  related,
  type Subject,
  scalar,
  tableOf,
  type Value,
  value,
} from "./conditions.js";
import type { Random } from "./seeded.js";
import { type Type, tables } from "./shop.js";

export interface Rows extends Subject {
  readonly model: string;
  readonly code: string;
  readonly sql: string;
  /** The names of the result; null for instances of the model. */
  readonly shown: readonly string[] | null;
  readonly shape: "models" | "values" | "groups" | "distinct" | "combined";
  /** The columns that the rows are ordered by; null without an order. */
  readonly order: readonly string[] | null;
  /** Only one clause for limit and offset can follow another one. */
  readonly isLimited: boolean;
  /** There may be several rows of one row of the table. */
  readonly isJoined: boolean;
  /** False if rows that are equal in the order may differ in columns that are not shown. */
  readonly isTotal: boolean;
}

export function root(model: string): Rows {
  const { rows, columns, order } = tableOf(model);
  const place = order === null ? "null::bigint" : `row_number() over (order by t.${quoted(order)})`;
  return {
    model,
    table: model,
    columns,
    code: `${model}.objects`,
    sql: `select t.*, ${place} as "#" from (${rows}) t`,
    shown: null,
    shape: "models",
    order: order === null ? null : [order],
    isLimited: false,
    isJoined: false,
    isTotal: true,
  };
}

const names = (rows: Rows): string[] => Object.keys(rows.columns);
const list = (at: string, columns: readonly string[]): string =>
  columns.map((name) => `${at}.${quoted(name)}`).join(", ");
const text = (parts: readonly unknown[]): string => parts.map((part) => JSON.stringify(part)).join(", ");

/** All names that make an order total: rows that are equal in all of them are equal. */
const total = (rows: Rows): string[] =>
  rows.shape === "models" && !rows.isJoined ? ["id"] : [...(rows.shown ?? names(rows))];

type Step = (random: Random, rows: Rows) => Rows | null;

const filter: Step = (random, rows) => {
  const isExcluded = random.chance(0.35);
  // Rows of joined values: paths through the same relations are those of the row, and are not written here.
  const subject = rows.shape === "values" && rows.isJoined ? { ...rows, table: null } : rows;
  const { code, sql } = condition(random, subject);
  const t = alias();
  return {
    ...rows,
    code: `${rows.code}.${isExcluded ? "exclude" : "filter"}(${code})`,
    sql: `select ${t}.* from (${rows.sql}) ${t} where (${sql(t)})${isExcluded ? " is not true" : ""}`,
  };
};

const order: Step = (random, rows) => {
  const keys: Path[] = [];
  const asName = (name: string): Path => ({ relations: [], column: name, type: rows.columns[name]!, isMany: false });
  if (random.chance(0.8)) {
    const visible = rows.shape === "models" || rows.shape === "values" ? null : rows.shown;
    keys.push(visible === null ? randomPath(random, rows, false) : asName(random.pick(visible)));
  }
  const hidesKey = rows.shape === "values" && !rows.isJoined && !rows.shown!.includes("id");
  const isTotal = !hidesKey || random.chance(0.6);
  keys.push(...[...total(rows), ...(hidesKey && isTotal ? ["id"] : [])].map(asName));
  const t = alias();
  const signs = keys.map(() => random.chance(0.4));
  const terms = keys.map((path, at) => {
    const sql = scalar(rows.table, t, path.relations, path.column);
    return `${sql}${signs[at] ? " desc" : ""}`;
  });
  const place = `row_number() over (order by ${terms.join(", ")})`;
  const calls = keys.map((path, at) => (signs[at] ? "-" : "") + nameIn(rows, path));
  return {
    ...rows,
    code: `${rows.code}.orderBy(${text(calls)})`,
    sql: `select ${list(t, names(rows))}, ${place} as "#" from (${rows.sql}) ${t}`,
    order: keys.map((path) => nameIn(rows, path)),
    isTotal,
    isLimited: false,
  };
};

/** The name of a column in a call: fields of values have it already. */
function nameIn(rows: Rows, path: Path): string {
  return path.relations.length === 0 && !(rows.table !== null && path.column in tableOf(rows.table).columns)
    ? path.column
    : codeOf(path);
}

const renumbered = (rows: Rows, where: string, place = `t."#"`): string =>
  `select t.* from (select ${list("t", names(rows))}, row_number() over (order by ${place}) as "#" from (${rows.sql}) t) t where ${where}`;

const limit: Step = (random, rows) => {
  if (rows.order === null || !rows.isTotal) return null;
  const count = random.int(0, 9);
  return { ...rows, isLimited: true, code: `${rows.code}.limit(${count})`, sql: renumbered(rows, `t."#" <= ${count}`) };
};

const range: Step = (random, rows) => {
  if (rows.order === null || !rows.isTotal || rows.isLimited) return null;
  const [skipped, count] = [random.int(0, 4), random.int(1, 9)];
  const calls = random.chance(0.5) ? `.offset(${skipped}).limit(${count})` : `.limit(${count}).offset(${skipped})`;
  const code = random.chance(0.2) ? `.offset(${skipped})` : calls;
  const end = code === calls ? ` and t."#" <= ${skipped + count}` : "";
  return { ...rows, isLimited: true, code: rows.code + code, sql: renumbered(rows, `t."#" > ${skipped}${end}`) };
};

const reverse: Step = (_random, rows) =>
  rows.order === null
    ? null
    : { ...rows, isLimited: false, code: `${rows.code}.reverse()`, sql: renumbered(rows, "true", `t."#" desc`) };

const distinct: Step = (_random, rows) => {
  const shown = rows.shown ?? names(rows);
  const kept = rows.order?.every((name) => shown.includes(name)) && rows.shape !== "models" ? rows.order : null;
  const isSame = rows.shape === "models" && !rows.isJoined;
  return {
    ...rows,
    ...(rows.shape === "models"
      ? {}
      : {
          shape: "distinct" as const,
          table: null,
          columns: Object.fromEntries(shown.map((name) => [name, rows.columns[name]!])),
        }),
    code: `${rows.code}.distinct()`,
    sql: `select ${list("t", shown)}, min(t."#") as "#" from (${rows.sql}) t group by ${list("t", shown)}`,
    order: isSame ? rows.order : kept,
    isTotal: true,
    isLimited: false,
  };
};

/** The first row for each value of a column, by an order that begins with it. */
const firsts: Step = (random, rows) => {
  if (rows.shape !== "models" || rows.isJoined) return null;
  const by = random.pick(names(rows));
  const [second, down] = [random.pick(names(rows)), random.chance(0.5)];
  const ordered = orderedBy(rows, [by, `${down ? "-" : ""}${second}`, "id"]);
  return {
    ...ordered,
    code: `${ordered.code}.distinct(${JSON.stringify(pathName(by))})`,
    sql:
      `select ${list("t", names(rows))}, t."#" from (select t.*, ` +
      `row_number() over (partition by t.${quoted(by)} order by t."#") as "@n" from (${ordered.sql}) t) t where t."@n" = 1`,
    isLimited: false,
  };
};

function orderedBy(rows: Rows, keys: readonly string[]): Rows {
  const terms = keys.map((key) => (key.startsWith("-") ? `t.${quoted(key.slice(1))} desc` : `t.${quoted(key)}`));
  return {
    ...rows,
    code: `${rows.code}.orderBy(${text(keys.map(pathName))})`,
    sql: `select ${list("t", names(rows))}, row_number() over (order by ${terms.join(", ")}) as "#" from (${rows.sql}) t`,
    order: keys.map((key) => key.replace(/^-/, "")),
    isLimited: false,
  };
}

/** Fields for `values()`, with the rows in which they are columns. */
function fields(random: Random, rows: Rows, most: number, many: boolean): { rows: Rows; shown: string[] } {
  let made = rows;
  const shown: string[] = [];
  const joined = new Map<string, string>();
  for (let left = random.int(1, most); left > 0; left--) {
    const path = randomPath(random, rows, many);
    const name = nameIn(rows, path);
    if (shown.includes(name)) continue;
    const t = alias();
    if (!path.isMany) {
      shown.push(name);
      if (name in made.columns) continue;
      const columns = { ...made.columns, [name]: path.type };
      const sql = `select ${t}.*, ${scalar(rows.table, t, path.relations, path.column)} as ${quoted(name)} from (${made.sql}) ${t}`;
      made = { ...made, columns, sql };
      continue;
    }
    // Only relations to many at the end: others are joined one after another in the same way.
    const first = path.relations.findIndex(
      (each, index) => each in tableOf(endOf(rows.table!, path.relations.slice(0, index))).many,
    );
    if (first !== path.relations.length - 1) continue;
    const relation = path.relations.join("__");
    shown.push(name);
    const hidden = joined.get(relation) ?? `@${relation}`;
    if (!joined.has(relation)) {
      joined.set(relation, hidden);
      const { rows: others, key } = related(rows.table!, t, path.relations);
      const x = alias();
      made = {
        ...made,
        isJoined: true,
        order: null,
        columns: { ...made.columns, [hidden]: "int" },
        sql: `select ${t}.*, ${x}.id as ${quoted(hidden)} from (${made.sql}) ${t} left join (${others}) ${x} on ${x}."@owner" = ${key}`,
      };
    }
    const [u, x] = [alias(), alias()];
    const { rows: all } = tableOf(endOf(rows.table!, path.relations));
    made = {
      ...made,
      columns: { ...made.columns, [name]: path.type },
      sql: `select ${u}.*, (select ${x}.${quoted(path.column)} from (${all}) ${x} where ${x}.id = ${u}.${quoted(hidden)}) as ${quoted(name)} from (${made.sql}) ${u}`,
    };
  }
  return { rows: made, shown };
}

const isPlain = (rows: Rows): boolean =>
  rows.shape === "models" || (rows.shape === "values" && !rows.isJoined && rows.table !== null);

const values: Step = (random, rows) => {
  if (rows.shape === "groups") {
    const shown = random.some(rows.shown!, 3);
    return { ...rows, shown, code: `${rows.code}.values(${text(shown)})` };
  }
  if (!isPlain(rows)) return null;
  const { rows: made, shown } = fields(random, rows, 3, random.chance(0.4));
  if (shown.length === 0) return null;
  const isJoined = made.isJoined;
  return {
    ...made,
    shown,
    shape: "values",
    order: made.isTotal ? made.order : null,
    code: `${rows.code}.values(${text(shown)})`,
    isLimited: isJoined ? false : rows.isLimited,
    columns: withoutHidden(made.columns),
  };
};

const withoutHidden = (columns: Rows["columns"]): Rows["columns"] =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => !name.startsWith("@")));

let annotations = 0;

const annotate: Step = (random, rows) => {
  if (!isPlain(rows)) return null;
  const name = `x${annotations++}`;
  const made = random.chance(0.15) && rows.shape === "models" ? window(random, rows) : value(random, rows);
  // Aggregates after values() make groups: see there.
  if (rows.shape === "values" && made.isAggregate) return null;
  return added(rows, name, made);
};

function added(rows: Rows, name: string, { code, sql, type }: Value): Rows {
  const t = alias();
  return {
    ...rows,
    code: `${rows.code}.annotate({ ${name}: ${code} })`,
    sql: `select ${t}.*, ${sql(t)} as ${quoted(name)} from (${rows.sql}) ${t}`,
    order: rows.isTotal ? rows.order : null,
    columns: { ...rows.columns, [name]: type },
    shown: rows.shown === null ? null : [...rows.shown, name],
  };
}

/** A window function over the rows. */
function window(random: Random, rows: Rows): Value {
  const [by, down] = [random.pick(names(rows)), random.chance(0.5)];
  const partition = random.pick(names(rows));
  if (random.chance(0.5) || rows.isJoined) {
    return {
      type: "int",
      code: `sum("id").over({ partitionBy: [${JSON.stringify(pathName(partition))}] })`,
      sql: (at) => `sum(${at}.id) over (partition by ${at}.${quoted(partition)})`,
    };
  }
  return {
    type: "int",
    code: `rowNumber().over({ partitionBy: [${JSON.stringify(pathName(partition))}], orderBy: ["${down ? "-" : ""}${pathName(by)}", "id"] })`,
    sql: (at) =>
      `row_number() over (partition by ${at}.${quoted(partition)} order by ${at}.${quoted(by)}${down ? " desc" : ""}, ${at}.id)`,
  };
}

interface Total {
  readonly name: string;
  readonly code: string;
  readonly type: Type;
  /** The aggregate over the rows of a SELECT. */
  readonly over: (from: string) => string;
}

/** Aggregates over rows, or over rows that are related to them. */
function totals(random: Random, rows: Rows, many: boolean): Total[] {
  return Array.from({ length: random.int(1, 3) }, () => {
    const name = `x${annotations++}`;
    const r = alias();
    if (many && rows.table !== null && random.chance(0.3)) {
      const made = overMany(random, rows.table);
      if (made !== undefined) return { name, ...made };
    }
    const path = randomPath(random, rows, false);
    const { name: call, sql, type, counts } = aggregateOf(random, path);
    const argument = JSON.stringify(nameIn(rows, path));
    const isDistinct = ["count", "sum"].includes(call) && !counts && random.chance(0.2);
    // The fields of joined values are those of the row, as in a filter.
    const subject = rows.shape === "values" && rows.isJoined ? { ...rows, table: null } : rows;
    const filtered = rows.table !== null && random.chance(0.25) ? condition(random, subject, 1) : undefined;
    const column = scalar(rows.table, r, path.relations, path.column);
    const expression = counts ? "count(*)" : sql(`${isDistinct ? "distinct " : ""}${column}`);
    const code = counts ? "count()" : `${call}(${argument}${isDistinct ? ", { distinct: true }" : ""})`;
    return {
      name,
      type,
      code: filtered ? `${code}.filter(${filtered.code})` : code,
      over: (from) => `select ${expression} from (${from}) ${r}${filtered ? ` where ${filtered.sql(r)}` : ""}`,
    };
  });
}

/** An aggregate over the related rows of all rows: each related row counts once for each row that it belongs to. */
function overMany(random: Random, table: string): Omit<Total, "name"> | undefined {
  const [relation, { rows: others, to }] = random.pick(Object.entries(tableOf(table).many));
  const columns = tableOf(to).columns;
  const column = random.pick(Object.keys(columns));
  const { name, sql, type, counts } = aggregateOf(random, { type: columns[column]! });
  const [r, x] = [alias(), alias()];
  return {
    type,
    code: counts ? `count("${relation}")` : `${name}("${relation}__${pathName(column)}")`,
    over: (from) =>
      `select ${counts ? "count(*)" : sql(`${x}.${quoted(column)}`)} from (${from}) ${r} join (${others}) ${x} on ${x}."@owner" = ${r}.id`,
  };
}

const group: Step = (random, rows) => {
  if (!isPlain(rows)) return null;
  const { rows: made, shown: keys } = fields(random, rows, 2, random.chance(0.3));
  if (keys.length === 0) return null;
  const list_ = totals(random, rows, !made.isJoined && !rows.isJoined);
  const k = alias();
  const same = (from: string): string =>
    `select r.* from (${from}) r where ${keys.map((key) => `r.${quoted(key)} is not distinct from ${k}.${quoted(key)}`).join(" and ")}`;
  const columns = {
    ...Object.fromEntries(keys.map((key) => [key, made.columns[key]!])),
    ...Object.fromEntries(list_.map(({ name, type }) => [name, type])),
  };
  const computed = list_.map(({ name, over }) => `(${over(same(made.sql))}) as ${quoted(name)}`);
  return {
    ...made,
    table: null,
    columns,
    shown: Object.keys(columns),
    shape: "groups",
    code: `${rows.code}.values(${text(keys)}).annotate({ ${list_.map(({ name, code }) => `${name}: ${code}`).join(", ")} })`,
    sql:
      `select ${list(k, keys)}, ${computed.join(", ")}, null::bigint as "#" ` +
      `from (select distinct ${list("d", keys)} from (${made.sql}) d) ${k}`,
    order: null,
    isLimited: false,
    isJoined: false,
    isTotal: true,
  };
};

/** Another chain with the same columns, and both of them combined. */
const combine: Step = (random, rows) => {
  const isModels = rows.shape === "models" && names(rows).length === names(root(rows.model)).length;
  const onlyFields = rows.shape === "values" && !rows.isJoined;
  if ((!isModels && !onlyFields) || rows.isJoined) return null;
  let other = root(rows.model);
  for (let left = random.int(0, 2); left > 0; left--)
    other = random.pick([filter, filter, order, limit])(random, other) ?? other;
  let shown = rows.shown;
  if (shown !== null) {
    const plain = Object.keys(tableOf(rows.model).columns).filter((name) => pathName(name) === name);
    if (!shown.every((name) => plain.includes(name))) return null;
    other = { ...other, code: `${other.code}.values(${text(shown)})` };
  }
  shown ??= names(rows);
  const [call, operator] = random.pick([
    ["union", "union"],
    ["unionAll", "union all"],
    ["intersection", "intersect"],
    ["difference", "except"],
  ] as const);
  const columns = Object.fromEntries(shown.map((name) => [name, rows.columns[name]!]));
  const both = `select ${list("l", shown)} from (${rows.sql}) l ${operator} select ${list("r", shown)} from (${other.sql}) r`;
  return {
    ...rows,
    table: null,
    columns,
    shown: rows.shown,
    shape: "combined",
    code: `${rows.code}.${call}(${other.code})`,
    sql: `select c.*, null::bigint as "#" from (${both}) c`,
    order: null,
    isLimited: false,
  };
};

/** Rows of groups or of another model, joined by equal numbers. */
const join: Step = (random, rows) => {
  if (rows.shape !== "models") return null;
  let other = root(random.pick(Object.keys(tables).filter((name) => name !== "Note")));
  if (random.chance(0.4)) other = filter(random, other)!;
  if (random.chance(0.5)) other = group(random, other) ?? other;
  const ints = (of: Rows): string[] => names(of).filter((name) => of.columns[name] === "int");
  const theirs = ints(other);
  if (theirs.length === 0) return null;
  const mine = random.pick(Object.keys(tableOf(rows.model).columns).filter((name) => rows.columns[name] === "int"));
  const key = random.pick(theirs);
  const picked = random.pick(names(other));
  const name = `x${annotations++}`;
  const isLeft = random.chance(0.5);
  const named = (column: string): string => (other.shape === "models" ? pathName(column) : column);
  const t = alias();
  const o = alias();
  return {
    ...rows,
    isJoined: true,
    order: null,
    isLimited: false,
    columns: { ...rows.columns, [name]: other.columns[picked]! },
    code: `${rows.code}.${isLeft ? "leftJoin" : "innerJoin"}(${other.code}, { on: { "${pathName(mine)}": "${named(key)}" }, select: { ${name}: "${named(picked)}" } })`,
    sql: `select ${t}.*, ${o}.${quoted(picked)} as ${quoted(name)} from (${rows.sql}) ${t} ${isLeft ? "left" : "inner"} join (${other.sql}) ${o} on ${t}.${quoted(mine)} = ${o}.${quoted(key)}`,
  };
};

const recursive: Step = (random, rows) => {
  if (rows.model !== "Author" || rows.shape !== "models" || rows.isJoined) return null;
  if (names(rows).length !== names(root("Author")).length) return null;
  const [relation, from, to] = random.pick([
    ["mentor", "mentorId", "id"],
    ["pupils", "id", "mentorId"],
  ] as const);
  const isSelf = random.chance(0.5);
  const maxDepth = random.chance(0.4) ? random.int(1, 2) : undefined;
  const most = maxDepth ?? 12;
  const all = tableOf("Author").rows;
  const options = [isSelf ? "" : "self: false", maxDepth === undefined ? "" : `maxDepth: ${maxDepth}`].filter(Boolean);
  return {
    ...rows,
    order: null,
    isLimited: false,
    code: `${rows.code}.recursive("${relation}"${options.length ? `, { ${options.join(", ")} }` : ""})`,
    sql:
      `select a.*, null::bigint as "#" from (${all}) a where a.id in (with recursive w(id, steps) as (` +
      `select s.id, 0 from (${rows.sql}) s union select n.id, w.steps + 1 from w join (${all}) h on h.id = w.id ` +
      `join (${all}) n on n.${quoted(to)} = h.${quoted(from)} where w.steps < ${most}) ` +
      `select id from w where steps > ${isSelf ? -1 : 0})`,
  };
};

const steps: readonly Step[] = [
  filter,
  filter,
  filter,
  filter,
  order,
  order,
  limit,
  range,
  reverse,
  distinct,
  firsts,
  values,
  values,
  annotate,
  annotate,
  annotate,
  group,
  group,
  combine,
  join,
  recursive,
];

/** After a union only orders and limits can follow. */
const afterUnion: readonly Step[] = [order, limit, range, reverse];

export function chain(random: Random, longest: number): Rows {
  annotations = 0;
  let rows = root(random.pick(["Book", "Book", "Author", "Author", "Tag", "City"]));
  for (let left = random.int(1, longest); left > 0; left--) {
    const step = random.pick(rows.shape === "combined" ? afterUnion : steps);
    rows = step(random, rows) ?? rows;
  }
  return rows;
}

/** A chain of which the rows are those of a table, each once: it can be written to. */
export function writableChain(random: Random, longest: number): Rows {
  let rows = root(random.pick(["Book", "Book", "Author", "Tag"]));
  for (let left = random.int(1, longest); left > 0; left--)
    rows = random.pick([filter, filter, order, limit, range, reverse, annotate, recursive])(random, rows) ?? rows;
  return rows;
}

/** The statement for all rows, as JSON in their order. */
export function rowsSql(rows: Rows): string {
  const shown = rows.shown ?? names(rows);
  return `select to_jsonb(o) as row from (select ${list("t", shown)}, t."#" from (${rows.sql}) t) o order by o."#"`;
}

/** Aggregates over the rows of a chain. */
export function aggregation(random: Random, rows: Rows): { readonly code: string; readonly sql: string } {
  const made = totals(random, rows, !rows.isJoined);
  return {
    code: `${rows.code}.aggregate({ ${made.map(({ name, code }) => `${name}: ${code}`).join(", ")} })`,
    sql: `select to_jsonb(o) as row from (select ${made.map(({ name, over }) => `(${over(rows.sql)}) as ${quoted(name)}`).join(", ")}) o`,
  };
}
