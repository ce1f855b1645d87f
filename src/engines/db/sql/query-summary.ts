import { sqlTokens } from "../../../kit/sql-tokens.js";

/** The parts of a statement that a span shows, by OpenTelemetry's conventions for databases. */
export interface QuerySummary {
  /** `SELECT books authors`: operation and tables. Empty for a text that begins with no known keyword. */
  readonly summary: string;
  /** `SELECT`, `CREATE TABLE`; `BATCH` for several statements in one text. */
  readonly operation: string | undefined;
  /** The table, if the statement names exactly one. */
  readonly collection: string | undefined;
  /** The statement. Literals are replaced by `?` unless it has placeholders: then its values are sent apart from it. */
  readonly text: string;
}

/** Characters that are read: spans show no more. */
const longestRead = 16_384;
/** Characters of a summary, by the conventions. */
const longestSummary = 255;

const objects = new Set(["table", "index", "view", "schema", "type", "function", "sequence", "extension"]);
const operations = new Set(
  (
    "select insert update delete merge with values table create alter drop truncate call do explain analyze vacuum lock " +
    "refresh comment grant revoke set show copy begin start commit rollback savepoint listen notify reindex cluster"
  ).split(" "),
);
/** Words between a keyword and the name of its table. */
const fillers = new Set(["only", "if", "not", "exists", "table", "lateral", "concurrently"]);
/** The words after which a statement names a table. */
const introductions: Readonly<Record<string, readonly string[]>> = {
  select: ["from", "join"],
  insert: ["into"],
  merge: ["into"],
  update: ["update"],
  delete: ["from"],
  table: ["table"],
  truncate: ["truncate"],
};

/** Reads the summary of a statement from its text. Looks at each character once. */
export function summarize(given: string): QuerySummary {
  const text = given.slice(0, longestRead);
  const reader = new SummaryReader();
  let clean = "";
  let kept = 0;
  let hasPlaceholders = false;
  for (const { kind, text: piece, end } of sqlTokens(text)) {
    if (kind === "space" || kind === "comment") continue;
    if (kind === "word") reader.word(piece);
    else if (kind === "name") reader.name(piece.slice(1, -1).replaceAll('""', '"'));
    else reader.other(piece);
    if (kind === "parameter") hasPlaceholders = true;
    if (kind !== "string" && kind !== "number") continue;
    clean += `${text.slice(kept, end - piece.length)}?`;
    kept = end;
  }
  return { ...reader.end(), text: hasPlaceholders ? text : clean + text.slice(kept) };
}

/** Takes the words of a statement in their order. */
class SummaryReader {
  #operation: string | null = null;
  #batch = false;
  /** False after the semicolon of a statement. */
  #open = true;
  #depth = 0;
  #operationDepth = 0;
  readonly #tables: string[] = [];
  /** True if a name of a table comes next. */
  #expects = false;
  /** True after a name of a table: a dot continues it. */
  #named: "table" | "dot" | null = null;
  #previous = "";

  word(word: string): void {
    const lower = word.toLowerCase();
    if (this.#continues(word)) return;
    if (!this.#open) this.#batch = true;
    const previous = this.#previous;
    this.#previous = lower;
    if (this.#operation === null || (this.#operation === "with" && this.#depth === this.#operationDepth)) {
      if (this.#operation === null || lower in introductions) this.#begin(lower);
      return;
    }
    if (this.#depth !== this.#operationDepth) return;
    if (this.#expects && !fillers.has(lower)) {
      this.#table(word);
    } else if (objects.has(lower) && isDefinition(this.#operation)) {
      // `create unique index`, `create or replace view`: the kind of the object may come later.
      this.#operation += ` ${lower}`;
      this.#expects = lower === "table" || lower === "view";
    } else if (introductions[this.#operation]?.includes(lower) && previous !== "distinct") {
      this.#expects = true;
    }
  }

  /** A quoted name. */
  name(name: string): void {
    if (this.#continues(name)) return;
    this.#previous = "";
    if (this.#expects && this.#depth === this.#operationDepth) this.#table(name);
  }

  other(character: string): void {
    this.#previous = "";
    this.#named = character === "." && this.#named === "table" ? "dot" : null;
    if (character === "(") {
      this.#depth++;
      this.#expects = false;
    } else if (character === ")") this.#depth--;
    else if (character === ";" && this.#operation !== null) this.#open = false;
  }

  end(): Omit<QuerySummary, "text"> {
    if (this.#batch) return { summary: "BATCH", operation: "BATCH", collection: undefined };
    if (this.#operation === null || !operations.has(this.#operation.split(" ")[0]!)) {
      return { summary: "", operation: undefined, collection: undefined };
    }
    const operation = this.#operation.toUpperCase();
    const tables = [...new Set(this.#tables)];
    let summary = operation;
    for (const table of tables) {
      // A name is written whole or not at all.
      if (summary.length + 1 + table.length > longestSummary) break;
      summary += ` ${table}`;
    }
    return { summary, operation, collection: tables.length === 1 ? tables[0] : undefined };
  }

  #begin(operation: string): void {
    this.#operation = operation;
    this.#operationDepth = this.#depth;
    this.#expects = ["update", "table", "truncate"].includes(operation);
  }

  #table(name: string): void {
    this.#tables.push(name);
    this.#expects = false;
    this.#named = "table";
  }

  /** Takes the part of a name after a dot. */
  #continues(name: string): boolean {
    const continues = this.#named === "dot";
    if (continues) this.#tables.push(`${this.#tables.pop()}.${name}`);
    this.#named = continues ? "table" : null;
    return continues;
  }
}

function isDefinition(operation: string): boolean {
  return operation === "create" || operation === "alter" || operation === "drop";
}
