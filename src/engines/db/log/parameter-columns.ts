import { type SqlToken, sqlTokens } from "../../../kit/sql-tokens.js";
import { isSecretName } from "../../../logging/secrets.js";

/** The columns that the parameters of a statement belong to, as far as its text tells. */
export interface ParameterColumns {
  /** True if the value of a parameter may be shown. Parameters are counted from 0. */
  isOpen(index: number): boolean;
}

/** Characters beyond which a text is not read: none of its parameters is shown. */
const longestRead = 16_384;

const none: ParameterColumns = { isOpen: () => false };
const all: ParameterColumns = { isOpen: () => true };

/**
 * Finds the parameters whose values may be shown. If no name in the text is secret, those are all, except in an insert that
 * does not name its columns. Otherwise they are those that are compared with, or assigned to, a column whose name is not
 * secret; what cannot be told stays hidden.
 */
export function parameterColumns(text: string): ParameterColumns {
  if (text.length > longestRead) return none;
  const reader = new ParameterReader();
  for (const token of sqlTokens(text)) reader.read(token, isCall(text, token.end));
  if (!reader.namesSecret && !reader.insert.hidesNames) return all;
  const { columns } = reader;
  return { isOpen: (index) => columns.get(index + 1)?.every((name) => name !== null && !isSecretName(name)) === true };
}

/** Words between a column and its parameter. All other words of SQL end the search for the column. */
const links = new Set(["in", "any", "all", "some", "not", "like", "ilike", "between", "similar", "to", "array"]);
const keywords = new Set(
  (
    "select from where and or on using set values insert into update delete with as case when then else end join left " +
    "right full inner outer cross group order by having limit offset returning conflict do nothing is null distinct " +
    "union intersect except exists over partition window fetch for merge matched default true false asc desc"
  ).split(" "),
);

/** Reads the tokens of a statement from left to right, and remembers the name that the next parameter belongs to. */
class ParameterReader {
  /** The names of each parameter, by its number; null for a place where the name is not known. */
  readonly columns = new Map<number, (string | null)[]>();
  namesSecret = false;
  readonly insert = new InsertReader();
  #column: string | null = null;
  /** The name before a dot: `tokens` in `tokens.hash`. */
  #dotted: string | null = null;
  /** True after `::`: the name of a type follows. */
  #isType = false;
  #depth = 0;

  read({ kind, text }: SqlToken, call: boolean): void {
    if (kind === "space" || kind === "comment") return;
    if (kind === "parameter") {
      const number = Number(text.slice(1));
      const name = this.insert.isRow(this.#depth) ? this.insert.column : this.#column;
      this.columns.set(number, [...(this.columns.get(number) ?? []), name]);
    } else if (kind === "mark" || kind === "number") {
      this.#mark(text);
    } else {
      const name = kind === "word" ? text : contentOf(text);
      if (isSecretName(name)) this.namesSecret = true;
      const isType = this.#isType;
      this.#isType = false;
      if (isType) return;
      if (kind === "string") this.#column = isSecretName(name) ? name : null;
      else this.#name(name, kind === "word" ? name.toLowerCase() : "", call);
    }
  }

  #name(name: string, word: string, call: boolean): void {
    this.insert.name(name, word, call, this.#depth);
    const table = this.#dotted;
    this.#dotted = null;
    if (links.has(word)) return;
    if (keywords.has(word) || call) this.#column = null;
    else this.#column = table !== null && isSecretName(table) ? table : name;
  }

  #mark(mark: string): void {
    this.#isType = mark === "::";
    if (mark === ".") this.#dotted = this.#column;
    if (mark === "(") this.#depth++;
    if (mark === ")") {
      this.#depth--;
      this.#column = null;
    }
    this.insert.mark(mark, this.#depth);
  }
}

/** Follows `insert into table (a, b) values (1, 2), (3, 4)`. */
class InsertReader {
  /** True after `insert into table values (1, 2)`: any of its columns may be secret. */
  hidesNames = false;
  #phase: "none" | "table" | "columns" | "values" | "rows" = "none";
  #base = 0;
  #columns: string[] = [];
  #item = 0;
  #secretTable = false;

  /** True for a place in the rows of values. */
  isRow(depth: number): boolean {
    return this.#phase === "rows" && depth > this.#base;
  }

  /** The column of the current place in a row; null if it is not known, or its table has a secret name. */
  get column(): string | null {
    return this.#secretTable ? null : (this.#columns[this.#item] ?? null);
  }

  name(name: string, word: string, call: boolean, depth: number): void {
    if (word === "insert") {
      this.#phase = "table";
      this.#base = depth;
      this.#columns = [];
      this.#secretTable = false;
    } else if (this.#phase === "table" && word !== "into") {
      this.#secretTable ||= isSecretName(name);
      if (keywords.has(word) && word !== "as") this.#withoutColumns(word);
      else if (call) this.#phase = "columns";
    } else if (this.#phase === "columns") {
      this.#columns.push(name);
    } else if (this.#phase === "values") {
      this.#phase = word === "values" ? "rows" : "none";
    } else if (this.#phase === "rows" && depth === this.#base) {
      this.#phase = "none";
    }
  }

  #withoutColumns(word: string): void {
    this.hidesNames = true;
    this.#phase = word === "values" ? "rows" : "none";
  }

  /** Takes a mark, and the depth of brackets after it. */
  mark(mark: string, depth: number): void {
    if (this.#phase === "columns" && mark === ")") this.#phase = "values";
    if (this.#phase !== "rows") return;
    if (mark === "(" && depth === this.#base + 1) this.#item = 0;
    if (mark === "," && depth === this.#base + 1) this.#item++;
  }
}

/** True if an opening bracket follows: the name of a function, or of a table with its columns. */
function isCall(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 10) at++;
  return text[at] === "(";
}

/** The text in the quotes of a literal or a name: `'a'`, `E'a'`, `"a"`, `$tag$a$tag$`. */
function contentOf(text: string): string {
  const start = text.search(/['"$]/);
  const end = text[start] === "$" ? text.indexOf("$", start + 1) : start;
  return text.slice(end + 1, text.length - (end + 1 - start));
}
