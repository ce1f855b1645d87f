import { createHash } from "node:crypto";

/*
 * Other programs publish too, and write anything into their messages. What is read here goes into logs, tables and copies of
 * the message.
 */

/** The longest id that is kept as it is: that of AMQP. */
const longestId = 255;
const control = /[\u0000-\u001f\u007f]/;
/** The last time that JavaScript knows. */
export const latestTime = 8.64e15;

/**
 * The id of a message, equal at each delivery; null if it has none. In place of one that is very long, or has control
 * characters, its hash.
 */
export function foreignId(given: unknown): string | null {
  if (typeof given !== "string" || given === "") return null;
  if (given.length <= longestId && !control.test(given)) return given;
  return `sha256:${createHash("sha256").update(given, "utf16le").digest("hex")}`;
}

/** A time in milliseconds that a Date and every broker can hold; null for any other number. */
export function foreignTime(milliseconds: number): number | null {
  return milliseconds > 0 && milliseconds <= latestTime ? Math.floor(milliseconds) : null;
}
