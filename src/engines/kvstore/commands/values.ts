import { show } from "../../../kit/options.js";
import { type Duration, durationForm, readSeconds } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Argument } from "../connection/raw-client.js";

/** A value as the store keeps it: text, a number as its digits, or bytes. */
export type KvValue = string | number | Uint8Array;

export function keyOf(prefix: string, key: string): string {
  if (typeof key !== "string") throw new ValueError(`a key of the key-value store must be a string, not ${show(key)}`);
  return prefix === "" ? key : prefix + key;
}

export function encodeValue(value: KvValue): Argument {
  if (typeof value === "string" || value instanceof Uint8Array) return asBuffer(value);
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  throw new ValueError(`a value must be a string, a number or bytes, not ${show(value)}: use setJson() for objects`);
}

/** Milliseconds of a time to live. */
export function ttlOf(duration: Duration): number {
  return millisecondsOf(duration, "the time to live", 9_007_199_254);
}

/** Milliseconds that a call waits on the server. */
export function waitOf(duration: Duration): number {
  return millisecondsOf(duration, "the time to wait", 86_400);
}

function millisecondsOf(duration: Duration, name: string, max: number): number {
  const seconds = readSeconds(duration) ?? 0;
  if (seconds > 0 && seconds <= max) return Math.ceil(seconds * 1000);
  throw new ValueError(`${name} must be a duration above 0 (${durationForm}), not ${show(duration)}`);
}

export function integerOf(value: number, name: string): number {
  if (Number.isSafeInteger(value)) return value;
  throw new ValueError(`${name} must be an integer, not ${show(value)}`);
}

export const nothing = (): void => undefined;
export const isOne = (reply: unknown): boolean => reply === 1;
export const isThere = (reply: unknown): boolean => reply !== null;
export const asNumber = (reply: unknown): number => Number(reply);
export const asNumberOrNull = (reply: unknown): number | null => (reply === null ? null : Number(reply));
export const asText = (reply: unknown): string => reply as string;
export const asTextOrNull = (reply: unknown): string | null => reply as string | null;
export const asTexts = (reply: unknown): string[] => reply as string[];
export const asTextsOrNulls = (reply: unknown): (string | null)[] => reply as (string | null)[];

/** Redis writes infinity in its own way. */
export function asScore(reply: unknown): number {
  if (reply === "inf") return Number.POSITIVE_INFINITY;
  return reply === "-inf" ? Number.NEGATIVE_INFINITY : Number(reply);
}

/** ioredis takes buffers, not other views. */
function asBuffer(value: string | Uint8Array): string | Buffer {
  if (typeof value === "string" || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
