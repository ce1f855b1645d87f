import type { Check } from "../options.js";
import { ValueError } from "../value-error.js";

/**
 * A length of time: seconds as a number, fractions allowed, or text with a unit: `"250ms"`, `"3s"`, `"5m"`, `"2h"`, `"1d"`.
 * Only where a name ends in `Ms` does a number count milliseconds.
 */
export type Duration = number | DurationText;

export type DurationText = `${number}${keyof typeof unitSeconds}`;

const unitSeconds = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 } as const;

const pattern = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)$/;

/** The form of a duration, for messages. */
export const durationForm = 'seconds as a number, or text such as "250ms", "3s", "5m", "2h" or "1d"';

/** The seconds of a duration. Throws for text that is none. */
export function seconds(duration: Duration): number {
  const value = readSeconds(duration);
  if (value === undefined) throw new ValueError(`a duration is ${durationForm}, not ${JSON.stringify(duration)}`);
  return value;
}

/**
 * The milliseconds of a duration, as timers need them: whole, because rounding `2.3 * 1000` down would end too early. Only 0
 * is 0, which often stands for no limit.
 */
export function milliseconds(duration: Duration): number {
  const exact = seconds(duration) * 1000;
  return exact > 0 ? Math.max(1, Math.round(exact)) : Math.round(exact);
}

/** The seconds of a value, or undefined if it is no duration. */
export function readSeconds(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  const [, digits, unit] = (typeof value === "string" && pattern.exec(value)) || [];
  if (digits === undefined) return undefined;
  // Milliseconds are divided: 0.1 * 3 differs from 0.3, and 3 / 10 does not.
  return unit === "ms" ? Number(digits) / 1000 : Number(digits) * unitSeconds[unit as keyof typeof unitSeconds];
}

/** Checks a duration; the bounds are in seconds. */
export function isDuration(min: number = 0, max: number = longest): Check<Duration> {
  return (value) => {
    const given = readSeconds(value);
    if (given === undefined) return `a duration: ${durationForm}`;
    if (given >= min && given <= max) return undefined;
    if (max !== longest) return `a duration from ${inWords(min)} to ${inWords(max)}`;
    return given < min ? `a duration of at least ${inWords(min)}` : `a duration of at most ${inWords(max)}`;
  };
}

/** Seconds in the largest unit that has a whole number of them: 90 is "90s", 3600 is "1h". */
export function inWords(value: number): string {
  if (value === 0) return "0";
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (value % unitSeconds[unit] === 0) return `${value / unitSeconds[unit]}${unit}`;
  }
  return `${value * 1000}ms`;
}

/** A thousand years: as milliseconds still an exact number, and a date that JavaScript and PostgreSQL know. */
const longest = 31_557_600_000;
