import { codeOfEscape, findForbidden } from "../../http/json/json-scan.js";
import { strictTextOf } from "../../kit/encoding.js";
import { withDoubles, withNumberTexts } from "./exact-numbers.js";
import type { BodyTraits } from "./refusal.js";

/** A parsed JSON document. */
export interface JsonBody extends BodyTraits {
  readonly value: unknown;
  /** True if its long numbers are texts, see `numberText`. */
  readonly exact: boolean;
}

/** Reads a body; undefined if it is not exactly one acceptable JSON document. With `exactly`, long numbers keep their digits. */
export function readJsonBody(bytes: Uint8Array, exactly: boolean, limit: number): JsonBody | undefined {
  const text = strictTextOf(bytes);
  if (text === null) return undefined;
  const longNumbers: number[] | undefined = exactly ? [] : undefined;
  const found = findForbidden(bytes, longNumbers);
  if (found === "depth" || found === "key") return undefined;
  const escapes = text.includes("\\") ? escapesIn(bytes) : "plain";
  // It is not a character, and PostgreSQL does not store it.
  if (escapes === "half a pair") return undefined;
  const exact = longNumbers !== undefined && longNumbers.length > 0;
  const exactText = exact ? exactTextOf(bytes, longNumbers) : text;
  if (exactText === null) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(exactText);
  } catch {
    return undefined;
  }
  return { value, exact, nulls: escapes === "null", overflow: found === "number", limit };
}

/** A part of a body for a check, which takes long numbers as texts or as doubles. */
export function givenTo(check: { readonly exact: boolean }, value: unknown, body: JsonBody): unknown {
  return body.exact && !check.exact ? withDoubles(value) : value;
}

function exactTextOf(bytes: Uint8Array, longNumbers: readonly number[]): string | null {
  const marked = withNumberTexts(bytes, longNumbers);
  return marked === null ? null : strictTextOf(marked);
}

/** The characters that have no place in a column: half a surrogate pair in none, and U+0000 in none of text. */
type Escapes = "half a pair" | "null" | "plain";

function escapesIn(bytes: Uint8Array): Escapes {
  let found: Escapes = "plain";
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== backslash) continue;
    const code = codeOfEscape(bytes, ++i);
    if (code === -1) continue;
    i += 4;
    if (code === 0) found = "null";
    if (code < 0xd800 || code > 0xdfff) continue;
    // The first half comes first.
    if (code > 0xdbff || bytes[i + 1] !== backslash) return "half a pair";
    const low = codeOfEscape(bytes, i + 2);
    if (low < 0xdc00 || low > 0xdfff) return "half a pair";
    i += 6;
  }
  return found;
}

const backslash = 0x5c;
