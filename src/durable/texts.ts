import { refusePromises } from "../http/json/to-json.js";
import { type Check, show } from "../kit/options.js";
import { isStorable } from "../kit/storable.js";
import { ValueError } from "../kit/value-error.js";
import { ValidationError } from "../validation/issues.js";

/** Characters of an error that are kept. */
const longestError = 2000;

/** Checks an option that is compared with a column. */
export const isText: Check<string> = (value) =>
  isStorable(value) && value !== "" ? undefined : "a string of at least 1 character, without U+0000";

/** Checks text that a column of so many characters keeps. */
export const isTextUpTo =
  (most: number): Check<string> =>
  (value) =>
    isText(value) === undefined && (value as string).length <= most
      ? undefined
      : `a string of 1 to ${most} characters, without U+0000`;

/** An error as a table keeps it. */
export function errorText(error: unknown): string {
  let text: string;
  try {
    text = error instanceof Error ? `${error.name}: ${error.message}${issuesOf(error)}` : String(error);
  } catch {
    text = "an error without a text";
  }
  return text.slice(0, longestError).replaceAll("\0", "").toWellFormed();
}

/** The first mistakes of a value that a schema refused: their number alone does not help. */
function issuesOf(error: Error): string {
  if (!(error instanceof ValidationError)) return "";
  return `: ${error.issues
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.join(".")}: ${msg}`)
    .join("; ")}`;
}

/** A value as JSON text that PostgreSQL can keep. Errors call it `what`, with the name in quotes if there is one. */
export function jsonText(value: unknown, what: string, name?: string): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    refusePromises(value);
    text = JSON.stringify(value === undefined ? null : value) as string | undefined;
  } catch (error) {
    cause = error;
  }
  if (text !== undefined && !hasForbiddenEscape(text)) return text;
  const why = cause instanceof ValueError ? `: ${cause.message}` : "";
  const reason = text === undefined ? `cannot be written as JSON${why}` : "contains U+0000 or half of a surrogate pair";
  // Made here: it would cost each of many small values more than their text.
  throw new ValueError(
    `${what}${name === undefined ? "" : ` ${show(name)}`} ${reason}`,
    cause === undefined ? undefined : { cause },
  );
}

/**
 * PostgreSQL's jsonb holds neither U+0000 nor half of a surrogate pair. JSON.stringify escapes both, and writes pairs as
 * they are. A backslash after a backslash is text.
 */
function hasForbiddenEscape(text: string): boolean {
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at + 2)) {
    if (text[at + 1] !== "u") continue;
    const unit = Number.parseInt(text.slice(at + 2, at + 6), 16);
    if (unit === 0 || (unit >= 0xd800 && unit <= 0xdfff)) return true;
  }
  return false;
}
