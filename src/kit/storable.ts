/** True for text that PostgreSQL can keep: without U+0000 and without half of a surrogate pair. */
export function isStorable(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0") && value.isWellFormed();
}
