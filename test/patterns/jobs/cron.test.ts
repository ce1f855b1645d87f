import { describe, expect, it } from "vitest";
import { every, parseCron } from "../../../src/patterns/jobs/cron.js";
import { isLong } from "../../support/long.js";

describe("schedules", () => {
  const next = (text: string, after: string): string => parseCron(text).next(new Date(after)).toISOString();

  it.each([
    ["* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00.000Z"],
    ["*/15 * * * *", "2026-01-01T00:15:00Z", "2026-01-01T00:30:00.000Z"],
    ["0 4 * * *", "2026-01-01T04:00:00Z", "2026-01-02T04:00:00.000Z"],
    ["30 8-10/2 * * 1-5", "2026-01-02T10:30:00Z", "2026-01-05T08:30:00.000Z"],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00.000Z"],
    ["0 12 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T12:00:00.000Z"],
    ["5,10 23 31 12 *", "2026-12-31T23:05:30Z", "2026-12-31T23:10:00.000Z"],
    ["0 9 * FEB-mar mon", "2026-01-01T00:00:00Z", "2026-02-02T09:00:00.000Z"],
    ["0 9 * * fri-sun", "2026-01-02T09:00:00Z", "2026-01-03T09:00:00.000Z"],
    ["0 9 * * sat,sun", "2026-01-03T09:00:00Z", "2026-01-04T09:00:00.000Z"],
    ["0 0 1 nov-dec/1 *", "2026-11-02T00:00:00Z", "2026-12-01T00:00:00.000Z"],
  ])("The time of %s after %s is %s", (text, after, expected) => {
    expect(next(text, after)).toBe(expected);
  });

  it("Wrong schedules are refused with the field in the message", () => {
    expect(() => parseCron("* * * *")).toThrow('five fields, such as "0 4 * * *", or a duration, such as "5m"');
    expect(() => parseCron("60 * * * *")).toThrow('"60" is no minute (0 to 59) in the schedule "60 * * * *"');
    expect(() => parseCron("* 5-3 * * *")).toThrow('"5-3" is no hour');
    expect(() => parseCron("* * * * */0")).toThrow("day of the week");
    expect(() => parseCron("0 0 30 2 *")).toThrow("has no time");
    expect(() => parseCron("x * * * *")).toThrow('"x" is no minute');
    expect(() => parseCron("jan * * * *")).toThrow('"jan" is no minute');
    expect(() => parseCron("0 0 * mon *")).toThrow('"mon" is no month');
    expect(() => parseCron("0 0 * * sat-fri")).toThrow('"sat-fri" is no day of the week');
  });

  it("A schedule of equal distances keeps to multiples of the distance", () => {
    expect(every(5000).next(new Date(12_345)).getTime()).toBe(15_000);
    expect(every(5000).next(new Date(15_000)).getTime()).toBe(20_000);
  });
});

describe("schedules in a time zone", () => {
  const times = (text: string, zone: string, after: string, count: number): string[] => {
    const schedule = parseCron(text, zone);
    let last = new Date(after);
    return Array.from({ length: count }, () => (last = schedule.next(last)).toISOString());
  };

  // In Zurich 02:00 to 03:00 does not exist on 2027-03-28, and comes twice on 2027-10-31.
  it.each([
    ["30 2 * * *", "2027-03-27T12:00:00Z", ["2027-03-28T01:00", "2027-03-29T00:30"]],
    ["*/20 2 * * *", "2027-03-27T12:00:00Z", ["2027-03-28T01:00", "2027-03-29T00:00"]],
    ["30 */2 * * *", "2027-03-27T22:00:00Z", ["2027-03-27T23:30", "2027-03-28T02:30"]],
    ["30 2 * * *", "2027-10-30T12:00:00Z", ["2027-10-31T00:30", "2027-11-01T01:30"]],
    ["30 * * * *", "2027-10-30T23:45:00Z", ["2027-10-31T00:30", "2027-10-31T01:30", "2027-10-31T02:30"]],
    ["0 4 * * *", "2027-10-30T12:00:00Z", ["2027-10-31T03:00", "2027-11-01T03:00"]],
  ])("The times of %s after %s where clocks are changed", (text, after, expected) => {
    const found = times(text, "Europe/Zurich", after, expected.length);
    expect(found).toEqual(expected.map((time) => `${time}:00.000Z`));
  });

  it.each([...(isLong ? ["Europe/Zurich", "America/New_York"] : []), "Australia/Lord_Howe"])(
    "Through a year in %s each time comes once, or as often as its hour passes",
    (zone) => {
      const [begin, end, minute] = [Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1), 60_000];
      // What the clocks show, another way: as text, for each minute of the year.
      const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
      const shown: string[] = [];
      for (let time = begin; time < end; time += minute * 10) {
        const text = format.format(time);
        for (let more = 0; more < 10; more++) shown.push(`${text.slice(0, -1)}${more}`);
      }
      const walk = (text: string): string[] => {
        const schedule = parseCron(text, zone);
        const found: string[] = [];
        for (let at = schedule.next(new Date(begin - minute)); at.getTime() < end; at = schedule.next(at)) {
          found.push(shown[(at.getTime() - begin) / minute]!);
        }
        return found;
      };
      expect(walk("*/30 * * * *")).toEqual(shown.filter((text) => /:[03]0$/.test(text)));
      // Once each, though an hour comes twice; where it does not exist, when the clocks are changed.
      for (const hour of ["01", "02", "03"]) {
        const found = walk(`15 ${Number(hour)} * * *`);
        const days = new Set(shown.map((text) => text.slice(0, 10)));
        const own = shown.filter((text) => text.endsWith(` ${hour}:15`));
        // The first and the last day are not whole.
        const missing = [...days].slice(1, -1).filter((date) => !own.includes(`${date} ${hour}:15`));
        const whole = found.filter((text) => text.endsWith(` ${hour}:15`));
        expect(whole).toEqual([...new Set(own)]);
        expect(found.length - whole.length).toBe(missing.length);
        for (const text of found.filter((one) => !whole.includes(one))) {
          const place = shown.indexOf(text);
          expect(shown[place - 1]! < `${text.slice(0, 10)} ${hour}:15`).toBe(true);
          expect(text > `${text.slice(0, 10)} ${hour}:15`).toBe(true);
        }
      }
    },
  );
});
