import { createHash } from "node:crypto";
import { sqlTokens } from "../../kit/sql-tokens.js";
import type { Attributes } from "../../kit/tracer.js";
import type { QueriesKind } from "./database.js";
import { ProgrammingError } from "./errors.js";
import { type SessionState, sessionStateOf, withoutCommentsAndStrings } from "./transaction/session-state.js";

/** Opens or ends transactions; changes the session; works with a cursor. */
export type StatementEffect = "transaction" | "session" | "cursor";

/** The part of a span that is the same for all calls of a statement. */
export interface StatementSpan {
  readonly name: string;
  readonly attributes: Attributes;
}

/** The facts about a statement's text that hold on every connection. */
export class StatementInfo {
  readonly text: string;
  /** Its effect on its connection beyond its own end; null for none. */
  readonly effect: StatementEffect | null;
  /** The reason why it cannot be run at all. */
  readonly refusal: string | null;
  /** The state of its session that it leaves behind for the next user of the connection; null for none. */
  readonly leaves: SessionState | null;
  /** True if the server undoes all of it when it is cancelled, so that it can be run again. */
  readonly repeatable: boolean;
  /** The types of its parameters; null until a server has described them. */
  parameterTypes: readonly number[] | null;
  /** Milliseconds that it usually takes beyond the quickest of all. */
  cost = 0;
  /** True if a replica has refused it: it writes, or reads what only the primary has. */
  needsPrimary = false;
  /** The name and the attributes of its spans; null until it is traced. */
  shown: StatementSpan | null = null;
  #name: string | null = null;
  readonly #keyword: string;
  #reads: boolean | null = null;

  constructor(text: string, keyword: string, parameterTypes: readonly number[] | null) {
    this.text = text;
    this.#keyword = keyword;
    this.leaves = keyword === "" ? null : sessionStateOf(text, keyword);
    this.effect = effectOf(text, keyword);
    this.refusal = refusalOf(text, keyword);
    this.repeatable = repeatableKeywords.has(keyword);
    this.parameterTypes = parameterTypes;
  }

  /** True if it only reads, as far as its text tells, and can run on a replica. Computed on first use. */
  get reads(): boolean {
    this.#reads ??= this.leaves === null && readKeywords.has(this.#keyword) && !writingWord.test(this.text);
    return this.#reads && !this.needsPrimary;
  }

  /** True if it is known to take long. */
  get slow(): boolean {
    return this.cost > slowFrom;
  }

  /** The name under which connections prepare it, computed on first use. */
  get name(): string {
    return (this.#name ??= statementName(this.text));
  }
}

/**
 * The name of a prepared statement: a hash of its text. Behind a pooler a session of the server is shared with other
 * processes, so a name must never mean two texts; with a counter it did, and one process ran the statements of another.
 * The types of the parameters are not part of it because none are ever sent: the server derives them from the text.
 *
 * 128 bits of SHA-256: a collision by chance is likely only among 2^64 texts, and one made on purpose (2^64 attempts as
 * well) needs a way to run statements of one's choice, which is already more than a collision gives. PostgreSQL cuts names
 * at 63 bytes; this one has 27, as it is sent with each execution.
 */
export function statementName(text: string): string {
  return `stoa_${createHash("sha256").update(text).digest("base64url").slice(0, 22)}`;
}

/** Milliseconds from which a statement counts as slow. */
const slowFrom = 20;

/** The most texts that are kept: more than an application usually has, and a bound for one that builds them. */
const capacity = 2000;
/** Characters beyond which a text is most likely made for one use, such as an insert of many rows. */
export const longestKept = 8192;

/** The known facts about texts; the least recently used are dropped. */
export class Statements {
  readonly #known = new Map<string, StatementInfo>();
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
    const info = new StatementInfo(text, firstKeyword(text), null);
    if (text.length <= longestKept) this.#known.set(text, info);
    return info;
  }
}

/** A statement of the framework's own, sent without being prepared. */
export function internalStatement(text: string): StatementInfo {
  return new StatementInfo(text, "", []);
}

/** Throws for a statement that cannot be run, or would change a connection that others use. */
export function assertAllowed(info: StatementInfo, place: QueriesKind, pooled = false): void {
  if (info.refusal !== null) throw new ProgrammingError(info.refusal);
  if (pooled && info.leaves === "certain") throw new ProgrammingError(pooledHint);
  if (info.effect === null || place === "session") return;
  if (info.effect === "cursor" && place === "transaction") return;
  throw new ProgrammingError(hints[info.effect]);
}

const pooledHint =
  "this statement leaves something in its session (a setting, a lock, a temporary table), which behind a pooler in " +
  "transaction mode others use next; use what ends with a transaction: set_config(..., true), " +
  "pg_advisory_xact_lock, `on commit drop`";

const hints: Readonly<Record<StatementEffect, string>> = {
  transaction: "transactions are opened and ended by transaction(), not by statements",
  session: "this statement changes the connection for its next user; run it in session(), or use `set local`",
  cursor: "cursors are for transactions: use cursor()",
};

const keywordEffects: ReadonlyMap<string, StatementEffect> = new Map([
  ["begin", "transaction"],
  ["start", "transaction"],
  ["commit", "transaction"],
  ["end", "transaction"],
  ["rollback", "transaction"],
  ["abort", "transaction"],
  ["savepoint", "transaction"],
  ["release", "transaction"],
  ["set", "session"],
  ["reset", "session"],
  ["discard", "session"],
  ["prepare", "session"],
  ["deallocate", "session"],
  ["listen", "session"],
  ["unlisten", "session"],
  ["declare", "cursor"],
  ["fetch", "cursor"],
  ["move", "cursor"],
  ["close", "cursor"],
]);

const repeatableKeywords = new Set(["select", "insert", "update", "delete", "with", "values", "table", "merge"]);

const readKeywords = new Set(["select", "values", "table", "with"]);
/** Words of statements that change something or lock rows; as the name of a column they cost a read its replica, no more. */
const writingWord = /\b(?:insert|update|delete|merge|into|share|nextval|setval|pg_notify)\b/i;

const localSetting = /^[\s;]*set\s+(?:local|transaction|constraints)\b/i;

function effectOf(text: string, keyword: string): StatementEffect | null {
  // These hold until the end of the transaction.
  if (keyword === "set" && localSetting.test(withoutCommentsAndStrings(text))) return null;
  return keywordEffects.get(keyword) ?? null;
}

function refusalOf(text: string, keyword: string): string | null {
  // In the protocol it would end the text.
  if (text.includes("\0")) return "a statement cannot contain U+0000";
  // The protocol's copy mode does not mix with statements that were sent ahead.
  if (keyword === "copy" && /\bstd(?:in|out)\b/i.test(text)) return "copy from stdin or to stdout is not supported";
  return null;
}

/** The first word, in small letters, after white space, comments and opening brackets. Looks at each character once. */
export function firstKeyword(text: string): string {
  for (const { kind, text: piece } of sqlTokens(text)) {
    if (kind === "word") return /^[a-z]*/i.exec(piece)![0].toLowerCase();
    if (kind !== "space" && kind !== "comment" && piece !== "(" && piece !== ";") break;
  }
  return "";
}
