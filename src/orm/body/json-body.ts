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
  // Expressions: `includes` takes five times as long where there are many escapes.
  const hasEscapes = text.includes("\\");
  // Half a surrogate pair is not a character, and PostgreSQL does not store it.
  if (hasEscapes && /\\u[dD][89a-fA-F]/.test(text) && hasHalfPair(bytes)) return undefined;
  const exact = longNumbers !== undefined && longNumbers.length > 0;
  const exactText = exact ? exactTextOf(bytes, longNumbers) : text;
  if (exactText === null) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(exactText);
  } catch {
    return undefined;
  }
  return { value, exact, nulls: hasEscapes && /\\u0000/.test(text), overflow: found === "number", limit };
}

/** A part of a body for a check, which takes long numbers as texts or as doubles. */
export function givenTo(check: { readonly exact: boolean }, value: unknown, body: JsonBody): unknown {
  return body.exact && !check.exact ? withDoubles(value) : value;
}

function exactTextOf(bytes: Uint8Array, longNumbers: readonly number[]): string | null {
  const marked = withNumberTexts(bytes, longNumbers);
  return marked === null ? null : strictTextOf(marked);
}

/** True if an escape of one half of a surrogate pair has no escape of the other half beside it. */
function hasHalfPair(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== backslash) continue;
    const code = codeOfEscape(bytes, ++i);
    if (code === -1) continue;
    i += 4;
    if (code < 0xd800 || code > 0xdfff) continue;
    if (code > 0xdbff || bytes[i + 1] !== backslash) return true;
    const low = codeOfEscape(bytes, i + 2);
    if (low < 0xdc00 || low > 0xdfff) return true;
    i += 6;
  }
  return false;
}

const backslash = 0x5c;
