import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** The times of a schedule. */
export interface Schedule {
  /** A text by which a change of the schedule is recognized. */
  readonly text: string;
  /** The first time after another one. */
  next(after: Date): Date;
}

const fields = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12 },
  { name: "day of the week", min: 0, max: 7 },
] as const;

const minute = 60_000;
const day = 24 * 60 * minute;
/** Days after which a time must have come: February 29 on a given weekday comes at least every 40 years. */
const furthest = 366 * 41;

/** Reads five fields as cron knows them, in UTC: `*`, numbers, ranges, lists and steps. */
export function parseCron(text: string): Schedule {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 5) throw new ValueError(`a schedule has five fields, such as "0 4 * * *", not ${show(text)}`);
  const [minutes, hours, days, months, weekdays] = parts.map((part, index) => parseField(part, fields[index]!, text));
  if (weekdays!.has(7)) weekdays!.add(0);
  // As in cron: if both are given, either is enough.
  const either = parts[2] !== "*" && parts[4] !== "*";
  const isDay = (date: Date): boolean => {
    if (!months!.has(date.getUTCMonth() + 1)) return false;
    const [byDay, byWeekday] = [days!.has(date.getUTCDate()), weekdays!.has(date.getUTCDay())];
    return either ? byDay || byWeekday : byDay && byWeekday;
  };
  const next = (after: Date): Date => {
    let time = Math.floor(after.getTime() / minute) * minute + minute;
    for (let tried = 0; tried <= furthest; tried++) {
      const date = new Date(time);
      const midnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
      if (isDay(date)) {
        for (; time < midnight + day; time += minute) {
          const at = new Date(time);
          if (hours!.has(at.getUTCHours()) && minutes!.has(at.getUTCMinutes())) return at;
        }
      }
      time = midnight + day;
    }
    throw new ValueError(`the schedule ${show(text)} has no time`);
  };
  next(new Date(0));
  return { text, next };
}

/** A schedule of equal distances. */
export function every(milliseconds: number): Schedule {
  return {
    text: `every ${milliseconds}`,
    next: (after) => new Date(Math.floor(after.getTime() / milliseconds) * milliseconds + milliseconds),
  };
}

function parseField(part: string, { name, min, max }: (typeof fields)[number], whole: string): Set<number> {
  const values = new Set<number>();
  for (const item of part.split(",")) {
    const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(item);
    const [, low, high, step] = match ?? [];
    const from = low === undefined ? min : Number(low);
    const to = high !== undefined ? Number(high) : low === undefined || step !== undefined ? max : from;
    const by = step === undefined ? 1 : Number(step);
    if (match === null || from < min || to > max || from > to || by === 0) {
      throw new ValueError(`${show(item)} is not a ${name} in the schedule ${show(whole)}`);
    }
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return values;
}
