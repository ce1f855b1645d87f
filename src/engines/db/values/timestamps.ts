/**
 * Timestamps between PostgreSQL's text (DateStyle ISO) and Date. One without a zone is read and written as UTC, so that
 * neither the server's nor the process's zone changes a value.
 */

/** `2024-05-01 12:34:56.789+02`; fractions below a millisecond are dropped. `infinity` becomes a number. */
export function parseTimestamp(text: string): Date | number {
  const beforeChrist = text.endsWith(" BC");
  const yearEnd = text.indexOf("-");
  if (yearEnd < 4) return infinite(text);
  const year = digits(text, 0, yearEnd);
  const month = digits(text, yearEnd + 1, 2);
  const day = digits(text, yearEnd + 4, 2);
  let at = yearEnd + 7;
  const hour = digits(text, at, 2);
  const minute = digits(text, at + 3, 2);
  const second = digits(text, at + 6, 2);
  at += 8;
  let millisecond = 0;
  if (text.charCodeAt(at) === dot) {
    const start = ++at;
    while (isDigit(text.charCodeAt(at))) at++;
    const length = Math.min(at - start, 3);
    millisecond = digits(text, start, length) * (length === 3 ? 1 : length === 2 ? 10 : 100);
  }
  const zone = offsetSeconds(text, at) * 1000;
  const fullYear = beforeChrist ? 1 - year : year;
  // Date.UTC takes years below 100 for the twentieth century: 2000, a leap year, stands in.
  if (fullYear < 100) {
    const date = new Date(Date.UTC(2000, month - 1, day, hour, minute, second, millisecond));
    date.setUTCFullYear(fullYear, month - 1, day);
    return new Date(date.getTime() - zone);
  }
  return new Date(Date.UTC(fullYear, month - 1, day, hour, minute, second, millisecond) - zone);
}

/** A valid Date as PostgreSQL reads it, in every type of date and time. */
export function formatTimestamp(date: Date): string {
  const year = date.getUTCFullYear();
  const iso = date.toISOString();
  if (year > 0 && year < 10_000) return iso;
  // toISOString writes such years with a sign and six digits, which PostgreSQL does not read.
  const rest = iso.slice(7);
  return year > 0 ? `${year}${rest}` : `${String(1 - year).padStart(4, "0")}${rest} BC`;
}

/**
 * A Date as JSON has it: the same as its `toJSON`, null for an invalid one, at a fraction of the time. JSON.stringify
 * spends more on a Date than on all other values of a usual row together.
 */
export function isoText(date: Date): string | null {
  const time = date.getTime();
  const day = Math.floor(time / millisecondsPerDay);
  if (day !== lastDay) {
    const year = date.getUTCFullYear();
    if (!(year >= 0 && year < 10_000)) return date.toJSON();
    lastDay = day;
    lastDayText = `${twoDigits[Math.trunc(year / 100)]}${twoDigits[year % 100]}-${twoDigits[date.getUTCMonth() + 1]}-${twoDigits[date.getUTCDate()]}T`;
  }
  const millisecond = time - day * millisecondsPerDay;
  const second = Math.trunc(millisecond / 1000);
  const minute = Math.trunc(second / 60);
  const hour = Math.trunc(minute / 60);
  return `${lastDayText}${twoDigits[hour]}:${twoDigits[minute - hour * 60]}:${twoDigits[second - minute * 60]}.${threeDigits[millisecond - second * 1000]}Z`;
}

const millisecondsPerDay = 86_400_000;
const twoDigits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, "0"));
const threeDigits = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, "0"));
/** Rows that were written together are mostly of the same day. */
let lastDay = Number.NaN;
let lastDayText = "";

const dot = 46;
const plus = 43;
const minus = 45;
const colon = 58;

function infinite(text: string): Date | number {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  if (text === "-infinity") return Number.NEGATIVE_INFINITY;
  return new Date(Number.NaN);
}

/** `+02`, `-03:30`, `+05:53:28`, or none. */
function offsetSeconds(text: string, at: number): number {
  const sign = text.charCodeAt(at);
  if (sign !== plus && sign !== minus) return 0;
  let seconds = digits(text, at + 1, 2) * 3600;
  if (text.charCodeAt(at + 3) === colon) {
    seconds += digits(text, at + 4, 2) * 60;
    if (text.charCodeAt(at + 6) === colon) seconds += digits(text, at + 7, 2);
  }
  return sign === plus ? seconds : -seconds;
}

function digits(text: string, start: number, length: number): number {
  let value = 0;
  for (let i = start; i < start + length; i++) value = value * 10 + (text.charCodeAt(i) - 48);
  return value;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
