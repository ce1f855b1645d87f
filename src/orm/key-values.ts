/** Values of keys, compared by what they stand for: dates and bytes are not equal by identity. */

/** The text of a value. A null has none: it is not the text "null". */
export function keyText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return String(value.getTime());
  // A Buffer as text would have the same character for all bytes that are not valid UTF-8.
  return value instanceof Uint8Array ? value.join() : String(value);
}

/** True if two values of a key are the same. A null is the same as nothing; objects without their own text are not compared. */
export function isSameKey(a: unknown, b: unknown): boolean {
  if (a === null || a === undefined) return false;
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object") return false;
  const text = keyText(a);
  return text !== null && text !== "[object Object]" && text === keyText(b);
}
