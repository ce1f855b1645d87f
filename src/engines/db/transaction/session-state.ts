import { sqlTokens } from "../../../kit/sql-tokens.js";

/** `certain`: the statement leaves something in its session. `possible`: it may. */
export type SessionState = "certain" | "possible";

/**
 * Finds out from the text of a statement if it may leave something in its session after the end of its transaction: a
 * setting, a temporary table, an advisory lock, a cursor. Statements that always do (`set`, `listen`) are found by their
 * keyword, see `statements.ts`. A function of the application that does so inside cannot be recognised.
 *
 * A text that only looks like it costs a reset of the connection, nothing else.
 */
export function sessionStateOf(whole: string, keyword: string): SessionState | null {
  // Their code can do anything.
  if (keyword === "do" || keyword === "call") return "possible";
  // Most texts contain none of the words.
  if (!suspicious.test(whole)) return null;
  const text = withoutCommentsAndStrings(whole);
  if (keyword === "declare") return holdable.test(text) ? "possible" : null;
  if (sessionLock.test(text) || setsForSession(text)) return "certain";
  if (temporary.test(text) && !droppedAtEnd.test(text)) return "certain";
  return seed.test(text) ? "possible" : null;
}

const suspicious = /set_config|advisory|temp|setseed|hold/i;
const holdable = /\bwith\s+hold\b/i;
const sessionLock = /\bpg_(?:try_)?advisory_lock(?:_shared)?\b/i;
const seed = /\bsetseed\b/i;
const temporary = /\b(?:create|replace|into)\s+(?:(?:local|global)\s+)?temp(?:orary)?\b|\bpg_temp"?\s*\./i;
const droppedAtEnd = /\bon\s+commit\s+drop\b/i;

/** Limits for the search: calls of `set_config`, and characters of each. */
const mostCalls = 16;
const longestCall = 2000;

/** True unless each `set_config` has a literal `true` at the end: then the setting ends with the transaction. */
function setsForSession(text: string): boolean {
  const name = /\bset_config\b/gi;
  for (let calls = 0; name.exec(text) !== null; calls++) {
    if (calls === mostCalls || !endsWithTrue(text.slice(name.lastIndex, name.lastIndex + longestCall))) return true;
  }
  return false;
}

/** True for `('', $1, true)...`. The arguments may hold brackets. */
function endsWithTrue(text: string): boolean {
  if (!/^\s*\(/.test(text)) return false;
  let depth = 0;
  let lastComma = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    // A string in `$$` can hold anything. A parameter is `$1`.
    if (character === "$" && !/\d/.test(text[at + 1] ?? "")) return false;
    if (character === "(") {
      depth++;
    } else if (character === ",") {
      if (depth === 1) lastComma = at;
    } else if (character === ")" && --depth === 0) {
      return /^\s*(?:is_local\s*=>\s*)?true\s*$/i.test(text.slice(lastComma + 1, at));
    }
  }
  return false;
}

/**
 * The text with a space for each comment, and with empty strings. Names in `"` and strings in `$$`, which may be the code of
 * functions, stay as they are.
 */
export function withoutCommentsAndStrings(whole: string): string {
  let kept = "";
  for (const { kind, text } of sqlTokens(whole)) {
    if (kind === "comment") kept += " ";
    else kept += kind === "string" && !text.startsWith("$") ? "''" : text;
  }
  return kept;
}
