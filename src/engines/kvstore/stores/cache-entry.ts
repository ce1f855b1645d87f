/** Cache entries as bytes: the length of the head in four bytes, the head as JSON, the body unchanged. */

import type { CacheEntry } from "../../../batteries/cache/store.js";

const headLength = 4;

/** An entry as bytes. */
export function encodeEntry({ body, ...head }: CacheEntry): Buffer {
  const kind = body === null ? 0 : typeof body === "string" ? 1 : 2;
  const text = Buffer.from(JSON.stringify([kind, head]));
  const bytes = body === null ? Buffer.alloc(0) : typeof body === "string" ? Buffer.from(body) : body;
  const whole = Buffer.allocUnsafe(headLength + text.length + bytes.length);
  whole.writeUInt32BE(text.length, 0);
  text.copy(whole, headLength);
  whole.set(bytes, headLength + text.length);
  return whole;
}

/** Undefined for bytes that are no entry: written by another version, or by somebody else. */
export function decodeEntry(whole: Buffer): CacheEntry | undefined {
  if (whole.length < headLength) return undefined;
  const end = headLength + whole.readUInt32BE(0);
  if (end > whole.length) return undefined;
  try {
    const parsed: unknown = JSON.parse(whole.toString("utf8", headLength, end));
    if (!Array.isArray(parsed) || typeof parsed[1] !== "object" || parsed[1] === null) return undefined;
    const [kind, head] = parsed as [number, Omit<CacheEntry, "body">];
    if (!Number.isFinite(head.freshUntil) || !Array.isArray(head.fields) || !Array.isArray(head.vary)) return undefined;
    const bytes = whole.subarray(end);
    return { ...head, body: kind === 0 ? null : kind === 1 ? bytes.toString() : bytes };
  } catch {
    return undefined;
  }
}
