import { findForbidden, JsonTraits } from "../../http/json/json-scan.js";
import { strictTextOf } from "../../kit/encoding.js";
import { withNumberTexts } from "./exact-numbers.js";
import type { BodyTraits } from "./refusal.js";

/** A parsed JSON document. */
export interface JsonBody extends BodyTraits {
  readonly value: unknown;
}

/** Reads a body; undefined if it is not exactly one acceptable JSON document. With `exactly`, long numbers keep their digits. */
export function readJsonBody(bytes: Uint8Array, exactly: boolean, limit: number): JsonBody | undefined {
  const text = strictTextOf(bytes);
  if (text === null) return undefined;
  const traits = new JsonTraits(exactly);
  const found = findForbidden(bytes, text, traits);
  // Half a surrogate pair is not a character, and PostgreSQL does not store it.
  if (found === "depth" || found === "key" || traits.halfPair) return undefined;
  const { longNumbers, runs, nulls } = traits;
  const exact = longNumbers !== null && longNumbers.length > 0;
  const exactText = exact ? exactTextOf(bytes, longNumbers, runs) : text;
  if (exactText === null) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(exactText);
  } catch {
    return undefined;
  }
  const source = exact ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : null;
  return { value, source, nulls, overflow: found === "number", limit };
}

function exactTextOf(bytes: Uint8Array, longNumbers: readonly number[], runs: readonly number[]): string | null {
  const marked = withNumberTexts(bytes, longNumbers, runs);
  return marked === null ? null : strictTextOf(marked);
}
