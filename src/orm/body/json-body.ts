import { isUtf8 } from "node:buffer";
import { isDeeperThan, maxJsonDepth, mayOverflow, mayPollute, pollutes } from "../../http/json.js";
import { utf8Of } from "../../internal/encoding.js";
import { mayLoseDigits, parseExactly } from "./exact-numbers.js";
import type { BodyTraits } from "./refusal.js";

/** A parsed JSON document. If requested, `exact` is the same document with its long numbers as `NumberText`. */
export interface JsonBody extends BodyTraits {
  readonly value: unknown;
  readonly exact: unknown;
}

/** Reads a body; undefined if it is not exactly one acceptable JSON document. */
export function readJsonBody(bytes: Uint8Array, exactly: boolean): JsonBody | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = utf8Of(bytes);
  if (isDeeperThan(text, maxJsonDepth)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (mayPollute(text) && pollutes(value)) return undefined;
  // Half a surrogate pair is not a character, and PostgreSQL does not store it.
  if (/\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value)) return undefined;
  return {
    value,
    exact: exactly && mayLoseDigits(text) ? parseExactly(text) : value,
    nulls: text.includes("\\u0000"),
    overflow: mayOverflow(text),
  };
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item));
}
