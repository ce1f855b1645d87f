import { type DatetimeParts, onDay, readDatetime, readDay, readTime, type TimeParts } from "../clock-text.js";
import { type Check, Refusal } from "../refusal.js";
import { fromTimestamp, readTimestamp } from "../timestamps.js";

const datetimeType = new Refusal("datetime_type", "Input should be a valid datetime");
const timezoneNaive = new Refusal("timezone_naive", "Input should not have timezone info");
const yearZero = "year 0 is out of range";

/** A point in time, as a Date. Text without a time zone is read as UTC. */
export const datetimeCheck: Check = (value) => {
  const parts = datetimeParts(value);
  if (parts instanceof Refusal) return parts;
  const date = new Date(millisOf(parts));
  // In zones east of UTC, the first hours of year 1 are in year 0 of UTC.
  return date.getUTCFullYear() < 1 ? datetimeParsing(yearZero) : date;
};

/**
 * A local date and time, as a string. A timestamp is read as UTC. Text with a time zone is refused: the zone would be
 * lost.
 */
export const localDatetimeCheck: Check = (value) => {
  const parts = datetimeParts(value);
  if (parts instanceof Refusal) return parts;
  const isTimestamp = typeof value === "number" || readTimestamp(value as string) !== undefined;
  if (parts.offset !== undefined && !isTimestamp) return timezoneNaive;
  return `${dayText(parts)}T${timeText(parts)}`;
};

function datetimeParts(value: unknown): DatetimeParts | Refusal {
  if (typeof value !== "string" && typeof value !== "number") return datetimeType;
  const parts = typeof value === "number" ? fromTimestamp(value) : datetimeFromText(value);
  const reason = typeof parts === "string" ? parts : parts.year === 0 ? yearZero : undefined;
  return reason === undefined ? (parts as DatetimeParts) : datetimeParsing(reason);
}

function datetimeParsing(reason: string): Refusal {
  return new Refusal("datetime_parsing", `Input should be a valid datetime, ${reason}`);
}

function datetimeFromText(text: string): DatetimeParts | string {
  const parts = text.length === 10 ? bareDay(text) : readDatetime(text);
  if (typeof parts !== "string") return parts;
  const timestamp = readTimestamp(text);
  return timestamp === undefined ? parts : fromTimestamp(timestamp);
}

function bareDay(text: string): DatetimeParts | string {
  const day = readDay(text);
  return typeof day === "string" ? day : onDay(day);
}

function millisOf({ year, month, day, hour, minute, second, micros, offset = 0 }: DatetimeParts): number {
  const millis = Math.floor(micros / 1000);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999. 400 years are a whole number of weeks and days, so they can be
  // added and subtracted again.
  const later = year < 400 ? Date.UTC(year + 400, month - 1, day) - cycle : Date.UTC(year, month - 1, day);
  return later + ((hour * 60 + minute - offset) * 60 + second) * 1000 + millis;
}

const cycle = 146_097 * 86_400_000;

const dateType = new Refusal("date_type", "Input should be a valid date");
const dateInexact = new Refusal(
  "date_from_datetime_inexact",
  "Datetimes provided to dates should have zero time - e.g. be exact dates",
);
const dateYearZero = new Refusal("date_parsing", `Input should be a valid date in the format YYYY-MM-DD, ${yearZero}`);

/** A date, as a string. A datetime is accepted if its time is midnight. */
export const dateCheck: Check = (value) => {
  if (typeof value !== "string" && typeof value !== "number") return dateType;
  const parts = typeof value === "number" ? fromTimestamp(value) : datetimeFromText(value);
  if (typeof parts === "string") {
    return new Refusal("date_from_datetime_parsing", `Input should be a valid date or datetime, ${parts}`);
  }
  if (parts.hour + parts.minute + parts.second + parts.micros > 0) return dateInexact;
  return parts.year === 0 ? dateYearZero : dayText(parts);
};

const timeType = new Refusal("time_type", "Input should be a valid time");
const [timeNegative, timeTooLarge, zoneTooFar] = [
  "time in seconds should be positive",
  "numeric times may not exceed 86,399 seconds",
  "timezone offset must be less than 16 hours",
].map((reason) => timeParsing(reason)) as [Refusal, Refusal, Refusal];

/** A time of day, as a string. A number counts seconds since midnight. */
export function timeCheck(zoned: boolean): Check {
  return (value) => {
    const parts =
      typeof value === "number" ? timeFromSeconds(value) : typeof value === "string" ? read(value, zoned) : timeType;
    if (parts instanceof Refusal) return parts;
    if (!zoned) return typeof value === "string" && parts.offset !== undefined ? timezoneNaive : timeText(parts);
    const offset = parts.offset ?? 0;
    // PostgreSQL accepts only offsets below 16 hours.
    if (Math.abs(offset) >= 16 * 60) return zoneTooFar;
    const minutes = Math.abs(offset);
    return `${timeText(parts)}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  };
}

function read(text: string, zoned: boolean): TimeParts | Refusal {
  // PostgreSQL writes whole hours as `+01`: a value from a response can be sent back.
  const parts = readTime(zoned && /[+-]\d\d$/.test(text) ? `${text}:00` : text, 0);
  return typeof parts === "string" ? timeParsing(parts) : parts;
}

function timeFromSeconds(number: number): TimeParts | Refusal {
  if (number < 0) return timeNegative;
  let whole = Math.floor(number);
  let micros = Math.round((number - whole) * 1e6);
  if (micros === 1_000_000) [whole, micros] = [whole + 1, 0];
  if (!(whole < 86_400)) return timeTooLarge;
  return { hour: Math.floor(whole / 3600), minute: Math.floor(whole / 60) % 60, second: whole % 60, micros, offset: 0 };
}

function timeParsing(reason: string): Refusal {
  return new Refusal("time_parsing", `Input should be in a valid time format, ${reason}`);
}

function dayText({ year, month, day }: DatetimeParts): string {
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

function timeText({ hour, minute, second, micros }: TimeParts): string {
  const fraction = micros === 0 ? "" : `.${String(micros).padStart(6, "0")}`;
  return `${two(hour)}:${two(minute)}:${two(second)}${fraction}`;
}

function two(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
