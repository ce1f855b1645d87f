import type { DatetimeParts } from "./clock-text.js";

/** Numbers above this count milliseconds: as seconds, it would be the year 2603. */
const watershed = 2e10;
/** The last second of the year 9999, and the first of the year 0. */
const [lastSecond, firstSecond] = [253_402_300_799, -62_167_219_200];

/**
 * The date and time of a Unix timestamp in seconds or milliseconds, in UTC. For a timestamp out of range, the result is
 * the reason.
 */
export function fromTimestamp(timestamp: number): DatetimeParts | string {
  const [seconds, micros] = split(timestamp);
  if (seconds > lastSecond) return "dates after 9999 are not supported as unix timestamps";
  if (seconds < firstSecond) return "dates before 0000 are not supported as unix timestamps";
  const date = new Date(seconds * 1000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    micros,
    offset: 0,
  };
}

function split(timestamp: number): [seconds: number, micros: number] {
  const inMillis = Math.abs(timestamp) > watershed;
  if (Number.isInteger(timestamp)) {
    // A division would lose microseconds.
    if (!inMillis) return [timestamp, 0];
    const seconds = Math.floor(timestamp / 1000);
    return [seconds, (timestamp - seconds * 1000) * 1000];
  }
  const exact = inMillis ? timestamp / 1000 : timestamp;
  const seconds = Math.floor(exact);
  const micros = Math.round((exact - seconds) * 1e6);
  return micros === 1_000_000 ? [seconds + 1, 0] : [seconds, micros];
}

const wholeNumber = /^[+-]?\d{1,19}$/;
const withPoint = /^[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Reads a timestamp from a text; undefined if the text is not one. */
export function readTimestamp(text: string): number | undefined {
  if (withPoint.test(text)) return Number(text);
  if (!wholeNumber.test(text)) return undefined;
  const number = Number(text);
  return Math.abs(number) < 2 ** 63 ? number : undefined;
}
