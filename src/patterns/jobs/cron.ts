import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** The times of a schedule. */
export interface Schedule {
  /** A text by which a change of the schedule is recognized. */
  readonly text: string;
  /** The first time after another one. */
  next(after: Date): Date;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of the values, from the smallest on. */
  readonly names?: readonly string[];
}

const fields: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec".split(" ") },
  { name: "day of the week", min: 0, max: 7, names: "sun mon tue wed thu fri sat".split(" ") },
];

const minute = 60_000;
const day = 24 * 60 * minute;
/** Days after which a time must have come: February 29 on a given weekday comes at least every 40 years. */
const furthest = 366 * 41;

/**
 * Reads five fields as cron knows them: `*`, numbers, names, ranges, lists and steps. The times are those that the clocks of
 * the zone show. Where clocks are changed, a schedule whose hour begins with `*` counts the hours that pass: it has a time for
 * each hour that comes twice, and none for one that is skipped. Any other has each time once: the first one of an hour that comes
 * twice, and the end of the gap for those that are skipped.
 */
export function parseCron(text: string, zone = "UTC"): Schedule {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 5) {
    throw new ValueError(
      `a schedule is five fields, such as "0 4 * * *", or a duration, such as "5m", not ${show(text)}`,
    );
  }
  const [minutes, hours, days, months, weekdays] = parts.map((part, index) => parseField(part, fields[index]!, text));
  if (weekdays!.has(7)) weekdays!.add(0);
  // As in cron: if both are given, either is enough.
  const either = parts[2] !== "*" && parts[4] !== "*";
  const isDay = (date: Date): boolean => {
    if (!months!.has(date.getUTCMonth() + 1)) return false;
    const [byDay, byWeekday] = [days!.has(date.getUTCDate()), weekdays!.has(date.getUTCDay())];
    return either ? byDay || byWeekday : byDay && byWeekday;
  };
  /** The first time from another one on, both as the clocks show them. */
  const shown = (from: number): number => {
    let time = from;
    for (let tried = 0; tried <= furthest; tried++) {
      const date = new Date(time);
      const midnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
      if (isDay(date)) {
        for (; time < midnight + day; time += minute) {
          const at = new Date(time);
          if (hours!.has(at.getUTCHours()) && minutes!.has(at.getUTCMinutes())) return time;
        }
      }
      time = midnight + day;
    }
    throw new ValueError(`the schedule ${show(text)} has no time`);
  };
  shown(0);
  const ahead = aheadIn(zone);
  const passing = (after: number): number => {
    for (let time = after + minute; ; ) {
      const now = ahead(time);
      const found = shown(time + now) - now;
      if (ahead(found) === now) return found;
      time = changeBetween(ahead, time, found);
    }
  };
  const once = (after: number): number => {
    for (let local = after + ahead(after); ; ) {
      local = shown(local + minute);
      const time = timeOf(ahead, local);
      if (time > after) return time;
    }
  };
  const next = parts[1]!.startsWith("*") ? passing : once;
  return {
    text: zone === "UTC" ? text : `${text} ${zone}`,
    next: (after) => new Date(next(Math.floor(after.getTime() / minute) * minute)),
  };
}

/** Milliseconds by which clocks are ahead of UTC at a time. */
type Ahead = (time: number) => number;

function aheadIn(zone: string): Ahead {
  if (zone === "UTC") return () => 0;
  const numeric = "numeric";
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
  });
  return (time) => {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(time)) part[type] = Number(value);
    return Date.UTC(part["year"]!, part["month"]! - 1, part["day"], part["hour"], part["minute"]) - time;
  };
}

/** The first time at which clocks show another one; if they skip it, the time at which they are changed. */
function timeOf(ahead: Ahead, local: number): number {
  const [before, after] = [ahead(local - day), ahead(local + day)];
  const [most, least] = [Math.max(before, after), Math.min(before, after)];
  if (ahead(local - most) === most) return local - most;
  if (ahead(local - least) === least) return local - least;
  return changeBetween(ahead, local - most, local - least);
}

/** The first minute with another state of the clocks than that of `from`. */
function changeBetween(ahead: Ahead, from: number, to: number): number {
  const first = ahead(from);
  let [low, high] = [from / minute, to / minute];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (ahead(middle * minute) === first) low = middle;
    else high = middle;
  }
  return high * minute;
}

/** A schedule of equal distances. */
export function every(milliseconds: number): Schedule {
  return {
    text: `every ${milliseconds}`,
    next: (after) => new Date(Math.floor(after.getTime() / milliseconds) * milliseconds + milliseconds),
  };
}

function parseField(part: string, { name, min, max, names = [] }: Field, whole: string): Set<number> {
  const values = new Set<number>();
  const numberOf = (text: string): number => {
    const place = names.indexOf(text.toLowerCase());
    return place < 0 ? Number(text) : place + min;
  };
  for (const item of part.split(",")) {
    const match = /^(?:\*|(\d{1,2}|[a-z]{3})(?:-(\d{1,2}|[a-z]{3}))?)(?:\/(\d{1,2}))?$/i.exec(item);
    const [, low, high, step] = match ?? [];
    const from = low === undefined ? min : numberOf(low);
    let to = high !== undefined ? numberOf(high) : low === undefined || step !== undefined ? max : from;
    // A week may end with its Sunday: fri-sun.
    if (to === 0 && from > 0 && max === 7) to = 7;
    const by = step === undefined ? 1 : Number(step);
    if (match === null || !(from >= min && to <= max && from <= to) || by === 0) {
      throw new ValueError(`${show(item)} is no ${name} (${min} to ${max}) in the schedule ${show(whole)}`);
    }
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return values;
}
