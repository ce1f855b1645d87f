import { type Check, Refusal } from "../refusal.js";

const type = new Refusal("time_delta_type", "Input should be a valid duration");
const parsing = new Refusal(
  "time_delta_parsing",
  "Input should be a valid duration, expected a form such as `P1DT2H` or `26:00:00`",
);
const tooLarge = new Refusal(
  "time_delta_parsing",
  "Input should be a valid duration, durations may not exceed 999,999,999 days",
);

/**
 * The amount of each unit. PostgreSQL does not convert months to days or days to hours: a month is not always 30 days,
 * nor a day 24 hours.
 */
type Duration = [years: number, months: number, days: number, seconds: number];

/** A duration, as a string in ISO 8601. A number counts seconds. */
export const intervalCheck: Check = (value) => {
  if (typeof value === "number") return written([0, 0, 0, value]);
  if (typeof value !== "string") return type;
  if (value.length > maxLength) return parsing;
  const sign = value.startsWith("-") ? -1 : 1;
  const text = /^[+-]/.test(value) ? value.slice(1) : value;
  const duration = readIso(text) ?? readClock(text) ?? readDays(text);
  return duration === undefined ? parsing : written(duration.map((amount) => amount * sign) as Duration);
};

/** Characters of a duration: the groups of the expressions repeat, which overflows the stack in a text of megabytes. */
const maxLength = 100_000;

const number = "-?\\d+(?:[.,]\\d*)?";
const isoForm = new RegExp(`^P(?:${number}[YMWD])*(?:T(?:${number}[HMS])*)?$`);
const isoPart = /T|(-?\d+(?:[.,]\d*)?)([YMWDHS])/g;

/** Reads `P1Y2M3W4DT5H6M7.8S`. Each amount can have a sign, as PostgreSQL writes it. */
function readIso(text: string): Duration | undefined {
  if (!isoForm.test(text) || !/\d/.test(text)) return undefined;
  const duration: Duration = [0, 0, 0, 0];
  let inTime = false;
  // Only the last amount may have a fraction. A point without digits after it (`1.D`) does not end the duration yet.
  let pointSeen = false;
  let ended = false;
  for (const [part, amount, unit] of text.matchAll(isoPart)) {
    if (part === "T") {
      inTime = true;
      continue;
    }
    if (ended) return undefined;
    pointSeen ||= /[.,]/.test(amount!);
    ended = pointSeen && !/[.,]$/.test(amount!);
    add(duration, Number(amount!.replace(",", ".")), unit!, inTime);
  }
  return duration;
}

function add(duration: Duration, amount: number, unit: string, inTime: boolean): void {
  if (unit === "Y") duration[0] += amount;
  else if (unit === "M" && !inTime) duration[1] += amount;
  else if (unit === "W") duration[2] += amount * 7;
  else if (unit === "D") duration[2] += amount;
  else duration[3] += amount * (unit === "H" ? 3600 : unit === "M" ? 60 : 1);
}

const clock = "(\\d{1,10}):([0-5]\\d)(?::([0-5]\\d(?:[.,]\\d+)?))?";
const clockForm = new RegExp(`^${clock}$`);
const daysForm = new RegExp(`^(\\d+) ?d(?:ays?)?,? ?(?:${clock})?$`, "i");

/** Reads `26:00:00`. */
function readClock(text: string): Duration | undefined {
  const match = text.length < 5 ? null : clockForm.exec(text);
  return match === null ? undefined : [0, 0, 0, clockSeconds(match[1]!, match[2]!, match[3])];
}

/** Reads `3 days, 04:05:06`, the form that Python writes. */
function readDays(text: string): Duration | undefined {
  const match = daysForm.exec(text);
  if (match === null) return undefined;
  const [, days, hours, minutes, seconds] = match;
  if (hours === undefined) return [0, 0, Number(days), 0];
  if (hours.length !== 2 || Number(hours) > 23) return undefined;
  return [0, 0, Number(days), clockSeconds(hours, minutes!, seconds)];
}

function clockSeconds(hours: string, minutes: string, seconds = "0"): number {
  // Digits after the microseconds are cut off.
  const exact = seconds.replace(",", ".").slice(0, 9);
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(exact);
}

const day = 86_400;
/** PostgreSQL stores the time of an interval as a 64-bit count of microseconds, and reads its hours as 32 bits. */
const maxSeconds = 7e12;

function written([years, months, days, seconds]: Duration): string | Refusal {
  // The total as pydantic counts it. PostgreSQL's own limits are wider.
  const total = Math.abs(years * 365 + months * 30 + days + seconds / day);
  if (!(total < 1e9)) return tooLarge;
  if (Math.abs(seconds) > maxSeconds) {
    days += Math.trunc(seconds / day);
    seconds %= day;
  }
  const date = part(years, "Y") + part(months, "M") + part(days, "D");
  const time = part(seconds, "S");
  return date + time === "" ? "PT0S" : `P${date}${time && `T${time}`}`;
}

function part(amount: number, unit: string): string {
  const text = amount.toFixed(6).replace(/\.?0+$/, "");
  return text === "0" || text === "-0" || text === "" ? "" : text + unit;
}
