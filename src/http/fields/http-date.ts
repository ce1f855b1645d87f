/** A time in the form of a header field (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. */
export function formatHttpDate(time: number): string {
  return new Date(time).toUTCString();
}

/**
 * The time in milliseconds that a header field gives, in any of the three forms of RFC 9110 section 5.6.7; undefined
 * for anything else. (`Date.parse` would take "1" for the year 2001.)
 */
export function parseHttpDate(text: string): number | undefined {
  const match = fixdate.exec(text) ?? rfc850.exec(text) ?? asctime.exec(text);
  if (!match?.groups) return undefined;
  const { day, month, year, hour, minute, second } = match.groups as Record<
    "day" | "month" | "year" | "hour" | "minute" | "second",
    string
  >;
  const index = months.indexOf(month);
  const time = Date.UTC(fullYear(year), index, Number(day), Number(hour), Number(minute), Number(second));
  const date = new Date(time);
  const exists = date.getUTCMonth() === index && date.getUTCDate() === Number(day);
  return exists && Number(hour) < 24 && Number(minute) < 60 && Number(second) <= 60 ? time : undefined;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const monthName = `(?<month>${months.join("|")})`;
const clock = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";
const dayName = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const longDayName = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)";
const fixdate = new RegExp(`^${dayName}, (?<day>\\d\\d) ${monthName} (?<year>\\d{4}) ${clock} GMT$`);
const rfc850 = new RegExp(`^${longDayName}, (?<day>\\d\\d)-${monthName}-(?<year>\\d\\d) ${clock} GMT$`);
const asctime = new RegExp(`^${dayName} ${monthName} (?<day>[ \\d]\\d) ${clock} (?<year>\\d{4})$`);

/** Two digits that would be more than 50 years ahead are of the last century. */
function fullYear(year: string): number {
  if (year.length === 4) return Number(year);
  const now = new Date().getUTCFullYear();
  const guess = now - (now % 100) + Number(year);
  return guess > now + 50 ? guess - 100 : guess;
}
