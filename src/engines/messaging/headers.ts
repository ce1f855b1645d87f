import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** Headers that the framework writes. Users cannot set headers of this prefix. */
export const frameworkHeaders = {
  /** Attempts that were made. */
  attempt: "stoa-attempt",
  /** The only group that is to handle the message: it was sent back from the dead letters of that group. */
  group: "stoa-group",
  replays: "stoa-replays",
  reason: "stoa-dead-reason",
  error: "stoa-dead-error",
  issues: "stoa-dead-issues",
  deadTopic: "stoa-dead-topic",
  deadGroup: "stoa-dead-group",
  deadAt: "stoa-dead-at",
  /** Bytes of the whole value, if a dead letter has only its beginning. */
  deadCut: "stoa-dead-cut",
  /** The place that waits for a reply. */
  replyTo: "stoa-reply-to",
  /** The request that a reply belongs to. */
  correlation: "stoa-correlation-id",
  replyError: "stoa-reply-error",
  contentType: "content-type",
} as const;

/** The content type of a message without a value: a tombstone. Kafka has a null value in its place. */
export const noValue = "application/x-no-value";

/** True for a message without a value. One with an empty value is another. */
export function isTombstone({ headers, body }: { readonly headers: Headers; readonly body: Uint8Array }): boolean {
  return body.length === 0 && headers[frameworkHeaders.contentType] === noValue;
}

type Headers = Readonly<Record<string, string>>;

const prefix = "stoa-";
const maxHeaders = 50;
/** Characters of a value. */
export const longestHeader = 8192;
const namePattern = /^[a-z0-9._-]{1,200}$/;
/** Characters that no value has. */
export const control = /[\u0000-\u001f\u007f]/;

/** Checks the headers of a publish and returns them with names in lower case. */
export function readHeaders(given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object") throw new ValueError(`the headers of a message are an object, not ${show(given)}`);
  const headers: Record<string, string> = {};
  const entries = Object.entries(given);
  if (entries.length > maxHeaders) throw new ValueError(`a message has at most ${maxHeaders} headers`);
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    if (!namePattern.test(lower) || lower === "__proto__") {
      throw new ValueError(`a header's name has letters, digits, '.', '_' and '-', not ${show(name)}`);
    }
    if (isOwn(lower)) throw new ValueError(`headers that begin with '${prefix}' belong to the framework`);
    if (typeof value !== "string" || value.length > longestHeader || control.test(value)) {
      throw new ValueError(`the header '${name}' must be a string of at most ${longestHeader} characters on one line`);
    }
    headers[lower] = value;
  }
  return headers;
}

/** A text that can be a header's value: on one line, and not longer than `limit`. */
export function headerText(text: string, limit = 1000): string {
  return text
    .slice(0, limit)
    .replace(/[\u0000-\u001f\u007f]/g, " ")
    .toWellFormed();
}

/** The number in a header that the framework wrote; 0 for anything else, since foreign programs can write there too. */
export function countIn(headers: Readonly<Record<string, string>>, name: string): number {
  const value = headers[name];
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : 0;
}

/** True for the name of a header that the framework writes. */
export function isOwn(name: string): boolean {
  return name.startsWith(prefix);
}

/** The headers without those that the framework adds for one delivery. */
export function withoutOwn(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isOwn(name)));
}
