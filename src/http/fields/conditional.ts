import { parseHttpDate } from "./http-date.js";

/** The validators of a resource: they identify one state of it. */
export interface Validators {
  /** The entity tag as it is sent, quoted, `W/` in front when weak. */
  readonly etag: string | undefined;
  /** In milliseconds, whole seconds. */
  readonly lastModified: number | undefined;
}

/** The value of a request's field, named in lower case. */
export type FieldReader = (name: string) => string | undefined;

/** `send` the response, send 304 (`unchanged`), or send 412 (`failed`). */
export type Verdict = "send" | "unchanged" | "failed";

/**
 * Evaluates the conditions of a request in the order of RFC 9110 section 13.2.2. Call it only if the response would
 * otherwise be a success.
 */
export function evaluateConditions(method: string, header: FieldReader, validators: Validators): Verdict {
  const { etag, lastModified } = validators;
  const reading = method === "GET" || method === "HEAD";

  const ifMatch = header("if-match");
  if (ifMatch !== undefined) {
    if (!matchesStrongly(ifMatch, etag)) return "failed";
  } else {
    const unmodifiedSince = dateOf(header("if-unmodified-since"));
    if (unmodifiedSince !== undefined && lastModified !== undefined && lastModified > unmodifiedSince) return "failed";
  }

  const ifNoneMatch = header("if-none-match");
  if (ifNoneMatch !== undefined) {
    if (matchesWeakly(ifNoneMatch, etag)) return reading ? "unchanged" : "failed";
  } else if (reading) {
    const modifiedSince = dateOf(header("if-modified-since"));
    if (modifiedSince !== undefined && lastModified !== undefined && lastModified <= modifiedSince) return "unchanged";
  }
  return "send";
}

/**
 * True if a Range may be honoured (RFC 9110 section 13.1.5): the part that the client has belongs to exactly this
 * state.
 */
export function allowsRange(ifRange: string | undefined, validators: Validators, now: number = Date.now()): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return ifRange === validators.etag && !ifRange.startsWith("W/");
  const date = dateOf(ifRange);
  // Section 8.8.2.2: within the second in which it was made, a state may be followed by another with the same date.
  return date !== undefined && date === validators.lastModified && now - date >= 1000;
}

/** True if a list of entity tags, or `*`, has the tag, by the weak comparison of RFC 9110 section 8.8.3.2. */
export function matchesWeakly(list: string, etag: string | undefined): boolean {
  if (list.trim() === "*") return true;
  if (etag === undefined) return false;
  const opaque = withoutWeakness(etag);
  return parseTags(list).some((tag) => withoutWeakness(tag) === opaque);
}

/** The same by the strong comparison, to which no weak tag is equal. */
export function matchesStrongly(list: string, etag: string | undefined): boolean {
  if (list.trim() === "*") return true;
  if (etag === undefined || etag.startsWith("W/")) return false;
  return parseTags(list).includes(etag);
}

export function isEntityTag(text: string): boolean {
  return /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.test(text);
}

const entityTag = /[ \t]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,|$)/y;

/** The tags of a list; none when anything in it is not one. */
function parseTags(list: string): string[] {
  const tags: string[] = [];
  entityTag.lastIndex = 0;
  for (let read = 0; read < list.length; read = entityTag.lastIndex) {
    const match = entityTag.exec(list);
    if (!match) return [];
    tags.push(match[1]!);
  }
  return tags;
}

function withoutWeakness(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}

function dateOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseHttpDate(text);
}
