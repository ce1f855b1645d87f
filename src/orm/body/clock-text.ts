// Reads dates and times from text into their parts. For invalid text, the result is a string: the reason, in pydantic's
// words.

export interface DayParts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

interface ClockParts {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly micros: number;
}

export interface TimeParts extends ClockParts {
  /** Minutes east of UTC; undefined when the text names no zone. */
  readonly offset: number | undefined;
}

export type DatetimeParts = DayParts & TimeParts;

/** Combines a day and a time. Each property is copied by name, because spreading both objects is many times slower. */
export function onDay(
  { year, month, day }: DayParts,
  { hour, minute, second, micros, offset }: TimeParts = midnight,
): DatetimeParts {
  return { year, month, day, hour, minute, second, micros, offset };
}

const midnight: TimeParts = { hour: 0, minute: 0, second: 0, micros: 0, offset: undefined };

/** Reads `2024-01-31` at the start of a text. */
export function readDay(text: string): DayParts | string {
  if (text.length < 10) return "input is too short";
  const year = digitsAt(text, 0, 4);
  if (year === -1) return "invalid character in year";
  if (text[4] !== "-") return "invalid date separator, expected `-`";
  const month = digitsAt(text, 5, 2);
  if (month === -1) return "invalid character in month";
  if (text[7] !== "-") return "invalid date separator, expected `-`";
  const day = digitsAt(text, 8, 2);
  if (day === -1) return "invalid character in day";
  if (month < 1 || month > 12) return "month value is outside expected range of 1-12";
  return day < 1 || day > daysIn(year, month) ? "day value is outside expected range" : { year, month, day };
}

/** Reads `12:34`, `12:34:56` or `12:34:56.789`, with an optional time zone, from a position in a text to its end. */
export function readTime(text: string, from: number): TimeParts | string {
  const clock = readClock(text, from, 23);
  if (typeof clock === "string") return clock;
  const offset = clock.end === text.length ? undefined : readOffset(text, clock.end);
  if (typeof offset === "string") return offset;
  const { hour, minute, second, micros } = clock;
  return { hour, minute, second, micros, offset };
}

export interface Clock extends ClockParts {
  /** The position after the time. */
  readonly end: number;
}

export function readClock(text: string, from: number, maxHour: number): Clock | string {
  if (text.length - from < 5) return "input is too short";
  const hour = digitsAt(text, from, 2);
  if (hour === -1) return "invalid character in hour";
  if (text[from + 2] !== ":") return "invalid time separator, expected `:`";
  const minute = digitsAt(text, from + 3, 2);
  if (minute === -1) return "invalid character in minute";
  if (hour > maxHour) return `hour value is outside expected range of 0-${maxHour}`;
  if (minute > 59) return "minute value is outside expected range of 0-59";
  let end = from + 5;
  if (text[end] !== ":") return { hour, minute, second: 0, micros: 0, end };
  const second = digitsAt(text, end + 1, 2);
  if (second === -1) return "invalid character in second";
  if (second > 59) return "second value is outside expected range of 0-59";
  end += 3;
  if (text[end] !== "." && text[end] !== ",") return { hour, minute, second, micros: 0, end };
  const start = end + 1;
  end = start;
  while (isDigit(text, end)) end++;
  if (end === start) return "second fraction digits missing after `.`";
  // Digits after the microseconds are cut off.
  const micros = Number(text.slice(start, Math.min(end, start + 6)).padEnd(6, "0"));
  return { hour, minute, second, micros, end };
}

/** Reads `Z`, `+01:00` or `+0100`, up to the end of a text. */
function readOffset(text: string, from: number): number | string {
  const mark = text[from];
  let at = from + 1;
  let offset = 0;
  if (mark !== "Z" && mark !== "z") {
    const sign = mark === "+" ? 1 : mark === "-" || mark === "\u2212" ? -1 : 0;
    if (sign === 0) return "invalid timezone sign";
    const hours = digitsAt(text, at, 2);
    if (hours === -1) return "invalid timezone hour";
    at += text[at + 2] === ":" ? 3 : 2;
    const minutes = digitsAt(text, at, 2);
    if (minutes === -1) return "invalid timezone minute";
    if (minutes > 59) return "timezone minute value is outside expected range of 0-59";
    if (hours > 23) return "timezone offset must be less than 24 hours";
    offset = sign * (hours * 60 + minutes);
    at += 2;
  }
  return at < text.length ? "unexpected extra characters at the end of the input" : offset;
}

/** Reads a date and a time, separated by `T`, `t`, `_` or a space. */
export function readDatetime(text: string): DatetimeParts | string {
  const day = readDay(text);
  if (typeof day === "string") return day;
  const separator = text[10];
  if (separator !== "T" && separator !== " " && separator !== "t" && separator !== "_")
    return "invalid datetime separator, expected `T`, `t`, `_` or space";
  const time = readTime(text, 11);
  return typeof time === "string" ? time : onDay(day, time);
}

/** The value of `count` digits from a position in a text; -1 if one of them is not a digit. */
function digitsAt(text: string, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at++) {
    if (!isDigit(text, at)) return -1;
    value = value * 10 + text.charCodeAt(at) - 0x30;
  }
  return value;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && leap ? 29 : monthDays[month - 1]!;
}
