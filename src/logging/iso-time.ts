/** The last time that was formatted, and its text. */
let moment = Number.NaN;
let text = "";
/** The second of that moment, and the text up to the milliseconds: `2026-01-31T12:00:00.`. */
let second = Number.NaN;
let prefix = "";

/** `toISOString` with a cache of the last result: a busy server calls it many times within one millisecond. */
export function isoTime(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  if (whole === moment) return text;
  moment = whole;
  const seconds = Math.floor(whole / 1000);
  if (seconds !== second) {
    prefix = new Date(seconds * 1000).toISOString().slice(0, 20);
    second = seconds;
  }
  return (text = `${prefix + threeDigits(whole - seconds * 1000)}Z`);
}

const digits: string[] = [];

/** A whole number below 1000 with its leading zeros; each is made once. */
export function threeDigits(number: number): string {
  return (digits[number] ??= String(number).padStart(3, "0"));
}
