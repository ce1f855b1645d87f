import { ProgrammingError } from "./errors.js";

/** Opens or ends transactions; changes the session; works with a cursor. */
export type StatementEffect = "transaction" | "session" | "cursor";

/** What is known of a statement's text, whichever connection runs it. */
export interface StatementInfo {
  readonly text: string;
  /** Under which name connections prepare it. Never used for another text. */
  readonly name: string;
  /** What it does to its connection beyond its own end; null for nothing. */
  readonly effect: StatementEffect | null;
  /** Why it cannot be run at all. */
  readonly refusal: string | null;
  /** Whether the server undoes all of it when it is cancelled, so that it can be run again. */
  readonly repeatable: boolean;
  /** The types of its parameters, once a server has told. */
  parameterTypes: readonly number[] | null;
  /** Milliseconds that it usually takes beyond the quickest of all. */
  cost: number;
}

/** How many texts are remembered: more than an application usually has, and a bound for one that builds them. */
const capacity = 2000;
/** Characters beyond which a text is most likely made for one use, such as an insert of many rows. */
export const longestKept = 8192;

/** Texts by what is known of them; the least recently used are forgotten. */
export class Statements {
  readonly #known = new Map<string, StatementInfo>();
  #made = 0;
  #last: StatementInfo | null = null;

  get(text: string): StatementInfo {
    if (this.#last !== null && this.#last.text === text) return this.#last;
    let info = this.#known.get(text);
    if (info === undefined) {
      info = this.#learn(text);
    } else if (this.#known.size > capacity / 2) {
      this.#known.delete(text);
      this.#known.set(text, info);
    }
    return (this.#last = info);
  }

  #learn(text: string): StatementInfo {
    if (text.length <= longestKept && this.#known.size >= capacity) {
      const [oldest] = this.#known.keys();
      this.#known.delete(oldest!);
    }
    const keyword = firstKeyword(text);
    const info: StatementInfo = {
      text,
      name: `stoa_${++this.#made}`,
      effect: effectOf(text, keyword),
      refusal: refusalOf(text, keyword),
      repeatable: repeatableKeywords.has(keyword),
      parameterTypes: null,
      cost: 0,
    };
    if (text.length <= longestKept) this.#known.set(text, info);
    return info;
  }
}

/** A statement of the framework's own, sent without being prepared. */
export function internalStatement(text: string): StatementInfo {
  return { text, name: "", effect: null, refusal: null, repeatable: false, parameterTypes: [], cost: 0 };
}

/** Where a statement is to run: on a connection of many, inside a transaction, or in a session of its own. */
export type StatementPlace = "pool" | "transaction" | "session";

/** Refuses what cannot be run, or would leave its mark on a connection that others use. */
export function assertAllowed(info: StatementInfo, place: StatementPlace): void {
  if (info.refusal !== null) throw new ProgrammingError(info.refusal);
  if (info.effect === null || place === "session") return;
  if (info.effect === "cursor" && place === "transaction") return;
  throw new ProgrammingError(hints[info.effect]);
}

const hints: Readonly<Record<StatementEffect, string>> = {
  transaction: "transactions are opened and ended by transaction(), not by statements",
  session: "this statement changes the connection for whoever uses it next; run it in session(), or use `set local`",
  cursor: "cursors are for transactions: use cursor()",
};

const keywordEffects: Readonly<Record<string, StatementEffect>> = {
  begin: "transaction",
  start: "transaction",
  commit: "transaction",
  end: "transaction",
  rollback: "transaction",
  abort: "transaction",
  savepoint: "transaction",
  release: "transaction",
  set: "session",
  reset: "session",
  discard: "session",
  prepare: "session",
  deallocate: "session",
  listen: "session",
  unlisten: "session",
  declare: "cursor",
  fetch: "cursor",
  move: "cursor",
  close: "cursor",
};

const repeatableKeywords = new Set(["select", "insert", "update", "delete", "with", "values", "table", "merge"]);

function effectOf(text: string, keyword: string): StatementEffect | null {
  // What holds until the end of the transaction is nobody else's business.
  if (keyword === "set" && /^\s*set\s+(?:local|transaction|constraints)\b/i.test(text)) return null;
  return keywordEffects[keyword] ?? null;
}

function refusalOf(text: string, keyword: string): string | null {
  // In the protocol it would end the text.
  if (text.includes("\0")) return "a statement cannot contain U+0000";
  // The protocol's copy mode does not mix with statements that were sent ahead.
  if (keyword === "copy" && /\bstd(?:in|out)\b/i.test(text)) return "copy from stdin or to stdout is not supported";
  return null;
}

/** The first word, in small letters, after white space, comments and opening brackets. */
function firstKeyword(text: string): string {
  const match = /^(?:[\s(;]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*([a-z]+)/i.exec(text);
  return match?.[1]?.toLowerCase() ?? "";
}
