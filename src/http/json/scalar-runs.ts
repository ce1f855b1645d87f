import type { Bytes } from "../body/byte-runs.js";
import { isDigit, minus, numberEnd, point } from "./json-number.js";

/** What ends a run: all that is no number, no white space and no part of `null`, and the `e` of an exponent. */
const ends = ['"', "{", "}", "[", "]", "e", "E"];
const comma = 0x2c;

/** Shorter runs are read number by number. */
const shortRun = 256;

/** The bytes behind a short run in which no other is searched. */
const pause = 1024;

/**
 * A double holds every decimal of up to 15 digits: `String` writes the same digits again. With the point counted as a digit,
 * a number of 16 may have more.
 */
export const longNumber = 16;

/** The fewest digits of a number without an exponent that is too large for a double. */
const largeNumber = 309;

/**
 * Finds runs of numbers and nulls in a list by the engine's own searches. In a run, only every 16th or 309th byte is looked
 * at: a number that matters is as long.
 */
export class ScalarRuns {
  /** As of `Bytes`. */
  static readonly kept = new ScalarRuns();
  /** Where to look for the next run: in a short document nowhere. */
  next = pause;
  /** For each of `ends`, the first place behind the last search. */
  readonly #places: number[] = [];

  /** The end of the run at `start`: behind a comma, or `start` if it is short. */
  endOf(bytes: Uint8Array, characters: string, start: number): number {
    let end = characters.length;
    for (let i = 0; i < ends.length && end - start >= shortRun; i++) {
      let place = this.#places[i] ?? -1;
      if (place < start) {
        place = characters.indexOf(ends[i]!, start);
        this.#places[i] = place = place === -1 ? characters.length : place;
      }
      end = Math.min(end, place);
    }
    this.next = Math.max(end, start + pause);
    if (end - start < shortRun) return start;
    while (end > start && bytes[end - 1] !== comma) end--;
    return end;
  }
}

/** True if a number of a run is too large. The first one that a double may not hold exactly is added to `firstLong`. */
export function readRun(
  view: Bytes,
  characters: string,
  start: number,
  end: number,
  firstLong: number[] | null,
): boolean {
  const { bytes } = view;
  let isLarge = false;
  let known = start;
  let step = firstLong === null ? largeNumber : longNumber;
  for (let i = start + step - 1; i < end; i += step) {
    if (!isInNumber(bytes[i]!)) continue;
    let first = i;
    while (first > known && isInNumber(bytes[first - 1]!)) first--;
    if (step === largeNumber) {
      // A run ends with a comma.
      const next = characters.indexOf(",", i);
      if (next - first < largeNumber) {
        known = i = next;
        continue;
      }
    }
    const last = numberEnd(view, first, i);
    isLarge ||= last < 0;
    // Behind a second point, which makes the document invalid, it is less than before.
    known = i = Math.max(i, Math.abs(last));
    if (step === longNumber && i - first >= longNumber) {
      firstLong?.push(bytes[first - 1] === minus ? first - 1 : first, i);
      step = largeNumber;
    }
  }
  return isLarge;
}

export function isInNumber(byte: number): boolean {
  return isDigit(byte) || byte === point;
}
