/** A piece of a file: both ends count, as in Content-Range. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The one range that a Range field requests (RFC 9110 section 14.1.2), clipped to the size. Undefined if the field is
 * ignored and the whole file is sent: another unit, a malformed or reversed range, or several ranges. A server may
 * ignore several ranges, and they would let a small request cause a large response.
 */
export function parseRange(field: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const match = single.exec(field);
  if (!match) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "") return last === "" ? undefined : suffix(Number(last), size);
  const start = Number(first);
  const end = last === "" ? Number.POSITIVE_INFINITY : Number(last);
  if (end < start) return undefined;
  if (start >= size) return "unsatisfiable";
  return { start, end: Math.min(end, size - 1) };
}

const single = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

function suffix(length: number, size: number): ByteRange | "unsatisfiable" | undefined {
  if (length === 0) return "unsatisfiable";
  // The last bytes of an empty file are all of it, and no Content-Range can say so.
  if (size === 0) return undefined;
  return { start: Math.max(0, size - length), end: size - 1 };
}
