import { createHash } from "node:crypto";
import type { Operation } from "../operation.js";
import { isOperation } from "../operations/define.js";

/**
 * A checksum of the operations, not of the text of their file: another formatting, a comment, or a file compiled from
 * TypeScript is the same migration. Of a function only its presence counts, because compilers rewrite functions. The
 * dependencies of a migration do not count either: they are corrected when earlier migrations are squashed.
 */
export function checksumOf(operations: readonly Operation[]): string {
  const text = JSON.stringify(operations.map(comparable));
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function comparable(value: unknown): unknown {
  if (typeof value === "function") return "(function)";
  if (typeof value === "bigint" || value instanceof RegExp) return String(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  if (isOperation(value)) return comparable(value.source);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, comparable(item)]));
}
