import type { Check } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** The names of time zones, which are part of the SQL text. Offsets have the opposite sign in PostgreSQL and are no names. */
const names = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/;

export const isTimeZone: Check<string> = (name) => {
  if (typeof name === "string" && name.length <= 64 && names.test(name)) {
    try {
      new Intl.DateTimeFormat("en", { timeZone: name });
      return undefined;
    } catch {
      // The name has the right form, but there is no such zone.
    }
  }
  return "the name of a time zone such as Europe/Berlin";
};

/** Checks the name of a time zone such as `Europe/Berlin`. */
export function checkTimeZone(name: string): string {
  const allowed = isTimeZone(name);
  if (allowed === undefined) return name;
  throw new ValueError(`${JSON.stringify(String(name).slice(0, 64))} is not ${allowed}`);
}
