import { type SqlToken, sqlTokens } from "../kit/sql-tokens.js";
import type { SchemaState } from "../orm/schema/state.js";
import { normalizeType } from "../orm/schema/type-names.js";
import { own } from "./lookup.js";

const rewritten = "the table is rewritten and cannot be read during that time";
const inBatches = "fill it in batches (`op.run` in a migration with `transaction: false`)";

const rules = {
  dropColumn: {
    risk: "the running version still reads and writes the column",
    cure: "deploy a version whose models do not have it, then drop it",
  },
  dropTable: {
    risk: "the running version still uses the table",
    cure: "deploy a version without its model, then drop it",
  },
  dropView: {
    risk: "the running version still reads the view",
    cure: "deploy a version without its model, then drop it",
  },
  rename: {
    risk: "the running version uses the old name",
    cure: "keep the name in the database and rename in the model only, or add the new one, write both, copy, and drop the old one",
  },
  required: {
    risk: "inserts of the running version leave the column out, and fail",
    cure: "add it with a default or as nullable, and require it when the new version has been deployed",
  },
  rewrite: {
    risk: rewritten,
    cure: `add a nullable column without it, ${inBatches}, and change over with the next version`,
  },
  volatileDefault: {
    risk: `each row needs its own value: ${rewritten}`,
    cure: `add the column as nullable, set the default in a second operation, and ${inBatches}`,
  },
  type: {
    risk: `${rewritten}; the running version may not expect the new type`,
    cure: `add a column of the new type, write both, ${inBatches}, and drop the old one`,
  },
  notNull: {
    risk: "all rows are checked while the table cannot be used, and the running version may still write null",
    cure: "first `ADD CONSTRAINT ... CHECK (... IS NOT NULL) NOT VALID`, in the next migration `VALIDATE CONSTRAINT`; then this checks nothing",
  },
  index: {
    risk: "writes to the table wait until the index is built",
    cure: "use { concurrently: true } in a migration with `transaction: false`",
  },
  uniqueConstraint: {
    risk: "the table cannot be used until the index is built",
    cure: "create a unique index with { concurrently: true }, then `ADD CONSTRAINT ... USING INDEX`",
  },
  constraint: {
    risk: "writes to the table, and to the one that it refers to, wait until all rows are checked",
    cure: "first add it with `NOT VALID`, in the next migration `VALIDATE CONSTRAINT`",
  },
  backfill: {
    risk: "all rows are changed in one transaction, and stay locked until its end",
    cure: inBatches,
  },
  json: {
    risk: "values of type json cannot be compared: `distinct` and `group by` fail",
    cure: "use jsonb",
  },
  lock: {
    risk: "the table cannot be used during that time",
    cure: "use the form with CONCURRENTLY, or do it in a pause of the service",
  },
} as const;

export type LintRule = keyof typeof rules;

export interface Risk {
  readonly rule: LintRule;
  readonly table: string;
  readonly risk: string;
  readonly cure: string;
}

/** The risks of SQL, which may be several statements. */
export function risksOf(sql: string, state: SchemaState): readonly Risk[] {
  return statementsOf(sql).flatMap((statement) => {
    const table = { name: "" };
    const found = new Set(statementRules(statement, state, table));
    return [...found].map((rule) => ({ rule, table: table.name, ...rules[rule] }));
  });
}

/** The tables and views that SQL creates. */
export function tablesCreatedBy(sql: string): readonly string[] {
  return statementsOf(sql).flatMap((statement) => {
    if (!statement.take("CREATE")) return [];
    statement.skip("OR", "REPLACE", "GLOBAL", "LOCAL", "TEMPORARY", "TEMP", "UNLOGGED", "RECURSIVE", "MATERIALIZED");
    return statement.take("TABLE") || statement.take("VIEW") ? [statement.skip("IF", "NOT", "EXISTS").name()] : [];
  });
}

function* statementRules(statement: Statement, state: SchemaState, table: { name: string }): Generator<LintRule> {
  const skip = (...words: readonly string[]) => statement.skip(...words);
  if (statement.take("ALTER", "TABLE")) {
    table.name = skip("IF", "EXISTS", "ONLY").name();
    for (const action of statement.parts()) yield* actionRules(action, state, table.name);
  } else if (statement.take("ALTER", "TYPE")) {
    if (statement.has("RENAME", "VALUE")) yield "rename";
  } else if (statement.take("CREATE")) {
    skip("UNIQUE");
    if (!statement.take("INDEX") || statement.take("CONCURRENTLY")) return;
    skip("IF", "NOT", "EXISTS");
    if (!statement.take("ON")) statement.name();
    table.name = skip("ON", "ONLY").name();
    yield "index";
  } else if (statement.take("DROP", "SCHEMA")) {
    yield "dropTable";
  } else if (statement.take("DROP", "TABLE")) {
    table.name = skip("IF", "EXISTS").name();
    yield "dropTable";
  } else if (statement.take("DROP", "VIEW") || statement.take("DROP", "MATERIALIZED", "VIEW")) {
    table.name = skip("IF", "EXISTS").name();
    yield "dropView";
  } else if (statement.take("UPDATE") || statement.take("DELETE", "FROM")) {
    table.name = skip("ONLY").name();
    yield "backfill";
  } else if (statement.take("WITH")) {
    if ((statement.has("UPDATE") && statement.has("SET")) || statement.has("DELETE", "FROM")) yield "backfill";
  } else if (statement.take("REINDEX") || statement.take("REFRESH")) {
    if (!statement.hasAny(concurrently)) yield "lock";
  } else if (statement.take("TRUNCATE")) {
    table.name = skip("TABLE", "ONLY").name();
    yield "lock";
  } else if (
    statement.take("CLUSTER") ||
    statement.take("LOCK") ||
    (statement.take("VACUUM") && statement.hasAny(full))
  ) {
    yield "lock";
  }
}

/** The rules of one action of ALTER TABLE. */
function* actionRules(action: Statement, state: SchemaState, table: string): Generator<LintRule> {
  if (action.take("RENAME")) {
    if (!action.take("CONSTRAINT")) yield "rename";
  } else if (action.take("DROP")) {
    if (!action.take("CONSTRAINT")) yield "dropColumn";
  } else if (action.take("ADD")) {
    yield* additionRules(action);
  } else if (action.take("ALTER")) {
    const column = action.skip("COLUMN").name();
    if (action.take("TYPE") || action.take("SET", "DATA", "TYPE")) {
      const from = own(own(state.tables, table)?.columns, column)?.type;
      if (from === undefined || !isCheap(from, action.untilWord("USING", "COLLATE")) || action.has("USING"))
        yield "type";
    } else if (action.take("SET", "NOT", "NULL")) {
      if (!isCheckedNotNull(state, table, column)) yield "notNull";
    } else if (action.has("AS", "IDENTITY")) {
      yield "rewrite";
    }
  } else if (action.take("SET", "LOGGED") || action.take("SET", "UNLOGGED") || action.take("SET", "TABLESPACE")) {
    yield "rewrite";
  } else if (action.take("SET", "SCHEMA")) {
    yield "rename";
  }
}

/** The rules of a constraint or a column that is added. */
function* additionRules(action: Statement): Generator<LintRule> {
  if (action.take("CONSTRAINT")) action.name();
  if (action.take("UNIQUE") || action.take("PRIMARY", "KEY") || action.take("EXCLUDE")) {
    if (!action.has("USING", "INDEX")) yield "uniqueConstraint";
    return;
  }
  if (action.take("FOREIGN", "KEY") || action.take("CHECK")) {
    if (!action.has("NOT", "VALID")) yield "constraint";
    return;
  }
  action.skip("COLUMN", "IF", "NOT", "EXISTS").name();
  if (action.take("JSON")) yield "json";
  if (action.has("GENERATED") || serials.some((type) => action.take(type))) {
    yield "rewrite";
  } else if (action.has("DEFAULT")) {
    if (action.hasAny(volatile)) yield "volatileDefault";
  } else if (action.has("NOT", "NULL")) {
    yield "required";
  }
  if (action.has("UNIQUE") || action.has("PRIMARY", "KEY")) yield "uniqueConstraint";
  if (action.has("CHECK") || (action.has("REFERENCES") && action.has("DEFAULT"))) yield "constraint";
}

/** Types whose columns have a default from a sequence. */
const serials = ["SERIAL", "BIGSERIAL", "SMALLSERIAL", "SERIAL2", "SERIAL4", "SERIAL8"];

/** They may be in parentheses. */
const concurrently = new Set(["CONCURRENTLY"]);
const full = new Set(["FULL"]);

/** Functions of PostgreSQL that give each row another value. */
const volatile = new Set(
  "RANDOM GEN_RANDOM_UUID UUID_GENERATE_V4 UUID_GENERATE_V1 UUIDV4 UUIDV7 CLOCK_TIMESTAMP TIMEOFDAY NEXTVAL SETSEED".split(
    " ",
  ),
);

/** True if PostgreSQL changes the type in its catalogue alone: all old values are new ones too, in the same form. */
function isCheap(given: string, wanted: string): boolean {
  const [from, to] = [partsOf(normalizeType(given)), partsOf(normalizeType(wanted))];
  if (from.name === "cidr" && to.name === "inet") return true;
  const texts = ["varchar", "text"];
  if (texts.includes(from.name) && texts.includes(to.name)) {
    return to.limits.length === 0 || (from.limits.length > 0 && to.limits[0]! >= from.limits[0]!);
  }
  if (from.name !== to.name || !/^(?:numeric|varbit|bit varying|time|timestamp|interval)/.test(to.name)) return false;
  if (to.limits.length === 0) return true;
  const [length = Number.POSITIVE_INFINITY, scale = 0] = from.limits;
  return to.limits[0]! >= length && (to.limits[1] ?? 0) === scale;
}

function partsOf(type: string): { readonly name: string; readonly limits: readonly number[] } {
  const [before = "", inside = "", after = ""] = type.split(/[()]/);
  return { name: `${before.trim()}${after}`, limits: inside === "" ? [] : inside.split(",").map(Number) };
}

/** True if a check, which PostgreSQL trusts, says that the column has no null. */
function isCheckedNotNull(state: SchemaState, table: string, column: string): boolean {
  const { checks = {} } = own(state.tables, table) ?? {};
  return Object.values(checks).some((check) => {
    const [first, ...rest] = [...sqlTokens(check)].filter(
      ({ kind, text }) => kind === "word" || kind === "name" || text === ".",
    );
    return (
      first !== undefined &&
      nameOf(first) === column &&
      rest.map(({ text }) => text.toUpperCase()).join(" ") === "IS NOT NULL"
    );
  });
}

/** The tokens of a statement, read from the front. */
class Statement {
  #at = 0;

  constructor(private readonly tokens: readonly SqlToken[]) {}

  /** Reads these words; false if others are next. */
  take(...words: readonly string[]): boolean {
    if (!words.every((word, index) => this.#word(this.#at + index) === word)) return false;
    this.#at += words.length;
    return true;
  }

  /** Reads those of these words that are next, in this order. */
  skip(...words: readonly string[]): this {
    for (const word of words) this.take(word);
    return this;
  }

  /** Reads a name, with its schema: `shop.lines`. */
  name(): string {
    const parts: string[] = [];
    do parts.push(nameOf(this.tokens[this.#at++]));
    while (this.tokens[this.#at]?.text === "." && this.#at++ < this.tokens.length);
    return parts.join(".");
  }

  /** True if these words follow each other somewhere in the rest, outside of parentheses. */
  has(...words: readonly string[]): boolean {
    let depth = 0;
    for (let at = this.#at; at < this.tokens.length; at++) {
      if (depth === 0 && words.every((word, index) => this.#word(at + index) === word)) return true;
      depth += depthOf(this.tokens[at]!);
    }
    return false;
  }

  hasAny(words: ReadonlySet<string>): boolean {
    return this.tokens.slice(this.#at).some(({ kind, text }) => kind === "word" && words.has(text.toUpperCase()));
  }

  /** The text up to one of these words. */
  untilWord(...words: readonly string[]): string {
    const rest = this.tokens.slice(this.#at);
    const end = rest.findIndex((_, index) => words.includes(this.#word(this.#at + index) ?? ""));
    return rest
      .slice(0, end === -1 ? rest.length : end)
      .map(({ text }) => text)
      .join(" ");
  }

  /** The rest, divided at its commas outside of parentheses. */
  parts(): Statement[] {
    const parts: SqlToken[][] = [[]];
    let depth = 0;
    for (const token of this.tokens.slice(this.#at)) {
      depth += depthOf(token);
      if (depth === 0 && token.text === ",") parts.push([]);
      else parts.at(-1)!.push(token);
    }
    return parts.map((tokens) => new Statement(tokens));
  }

  #word(at: number): string | undefined {
    const token = this.tokens[at];
    return token?.kind === "word" ? token.text.toUpperCase() : undefined;
  }
}

function depthOf({ kind, text }: SqlToken): number {
  return kind !== "mark" ? 0 : text === "(" ? 1 : text === ")" ? -1 : 0;
}

function nameOf(token: SqlToken | undefined): string {
  const { kind, text } = token ?? { kind: "word", text: "" };
  return kind === "name" ? text.slice(1, -1).replaceAll('""', '"') : text.toLowerCase();
}

/** After these words a statement can begin in a block of PL/pgSQL. */
const beginnings = new Set(["BEGIN", "THEN", "ELSE", "LOOP"]);

function statementsOf(sql: string, isBlock = false): Statement[] {
  const statements: SqlToken[][] = [[]];
  for (const token of sqlTokens(sql)) {
    if (token.kind === "space" || token.kind === "comment") continue;
    if (token.text === ";" || (isBlock && beginnings.has(token.text.toUpperCase()))) statements.push([]);
    else statements.at(-1)!.push(token);
  }
  return statements.flatMap((tokens) => {
    const block = tokens[0]?.text.toUpperCase() === "DO" ? tokens.find(({ text }) => text.startsWith("$")) : undefined;
    return block === undefined
      ? [new Statement(tokens)]
      : statementsOf(block.text.replace(/^\$\w*\$|\$\w*\$$/g, ""), true);
  });
}
