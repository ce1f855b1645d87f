import { isUtf8 } from "node:buffer";
import { findForbidden } from "../../http/json/json-scan.js";
import { utf8Of } from "../../kit/encoding.js";
import { mayLoseDigits, parseExactly } from "./exact-numbers.js";
import type { BodyTraits } from "./refusal.js";

/** A parsed JSON document. If requested, `exact` is the same document with its long numbers as `NumberText`. */
export interface JsonBody extends BodyTraits {
  readonly value: unknown;
  readonly exact: unknown;
}

/** Reads a body; undefined if it is not exactly one acceptable JSON document. */
export function readJsonBody(bytes: Uint8Array, exactly: boolean, limit: number): JsonBody | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = utf8Of(bytes);
  const found = findForbidden(bytes);
  if (found === "depth" || found === "key") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // Half a surrogate pair is not a character, and PostgreSQL does not store it.
  if (/\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value)) return undefined;
  return {
    value,
    exact: exactly && mayLoseDigits(text) ? parseExactly(text) : value,
    nulls: text.includes("\\u0000"),
    overflow: found === "number",
    limit,
  };
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isWellFormed(value[i])) return false;
    return true;
  }
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item));
}
