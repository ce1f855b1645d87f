import { isAscii, isUtf8 } from "node:buffer";

/**
 * Data as it is sent, with a character for each byte; `size` is the number of bytes. Written as latin1, such a string costs
 * far less than utf8, and than a Buffer beside the head that it is joined to.
 */
export function latin1Of(data: string | Uint8Array, size: number): string {
  if (typeof data !== "string") return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("latin1");
  // As many bytes as characters: ASCII, which is its own latin1.
  return data.length === size ? data : Buffer.from(data, "utf8").toString("latin1");
}

/** The text of bytes. Those of a transport are already a Buffer, and another view would cost as much as the text. */
export function utf8Of(bytes: Uint8Array): string {
  const buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString("utf8");
}

/** The text of bytes; null if they are not UTF-8. To decode 10 MiB of ASCII as latin1 takes 1 ms, as UTF-8 8 to 20. */
export function strictTextOf(bytes: Uint8Array): string | null {
  if (isAscii(bytes)) return latin1Of(bytes, bytes.length);
  return isUtf8(bytes) ? utf8Of(bytes) : null;
}

/** The text with its percent escapes decoded; null if one of them is malformed. */
export function percentDecoded(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** A larger buffer, for at least `needed` bytes, with the first `length` ones of this. */
export function grown(bytes: Buffer, length: number, needed: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, bytes.length * 2));
  bytes.copy(larger, 0, 0, length);
  return larger;
}
