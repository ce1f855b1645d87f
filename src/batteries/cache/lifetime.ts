import { parseHttpDate } from "../../http/fields/http-date.js";
import { isSameName } from "../../http/fields/response-fields.js";
import type { Response } from "../../http/response.js";
import { type Directives, deltaOf, parseCacheControl } from "./cache-control.js";
import type { CachePlan } from "./options.js";

/** The time for which a response may be reused. Times are in milliseconds. */
export interface Lifetime {
  readonly fresh: number;
  /** Its age when it was stored. */
  readonly initialAgeMs: number;
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  readonly mayBeStale: boolean;
}

/** Statuses stored for the ttl; all others only if the response itself says how long (RFC 9111 section 3). */
const byDefault = new Set([200, 203, 204, 300, 301, 308]);
/** Statuses that make sense for the request that caused them only. */
const never = new Set([206, 304]);

/** The time for which a response may be stored, by its own fields or by the plan; null if it must not be stored. */
export function lifetimeOf(response: Response, plan: CachePlan, now: number): Lifetime | null {
  const isKept = byDefault.has(response.status);
  if (never.has(response.status)) return null;
  const fields = relevantFields(response);
  if (fields.forbids) return null;
  const directives = targeted(fields) ?? (fields.cacheControl === null ? none : parseCacheControl(fields.cacheControl));
  if (directives === null || forbidding.some((name) => directives.has(name))) return null;
  const stated = statedLifetime(directives, fields, now);
  if (stated === undefined && !isKept) return null;
  const fresh = stated ?? plan.ttl;
  // RFC 9111 section 4.2.4: each of these forbids to reuse a stale response, s-maxage included.
  const mayBeStale = !["must-revalidate", "proxy-revalidate", "s-maxage"].some((name) => directives.has(name));
  const grace = (name: string, otherwise: number): number => {
    if (!mayBeStale) return 0;
    const delta = deltaOf(directives, name) ?? otherwise;
    return Number.isNaN(delta) ? 0 : delta;
  };
  const staleWhileRevalidateMs = grace("stale-while-revalidate", plan.staleWhileRevalidate);
  const staleIfErrorMs = grace("stale-if-error", plan.staleIfError);
  const initialAgeMs = ageOf(fields, now);
  if (fresh + Math.max(staleWhileRevalidateMs, staleIfErrorMs) <= initialAgeMs) return null;
  return { fresh, initialAgeMs, staleWhileRevalidateMs, staleIfErrorMs, mayBeStale };
}

/**
 * The directives of CDN-Cache-Control, which replace those of Cache-Control and Expires for shared caches (RFC 9213);
 * undefined without one. A field that is not a valid dictionary, or whose lifetime is not a number, is ignored as a whole
 * (section 2.2), unless it forbids to store the response.
 */
function targeted(fields: RelevantFields): Directives | undefined {
  if (fields.cdnCacheControl === null) return undefined;
  const directives = parseCacheControl(fields.cdnCacheControl);
  if (directives === null || directives.size === 0) return undefined;
  const isValid =
    isDictionary(fields.cdnCacheControl) &&
    ["max-age", "s-maxage"].every((name) => !Number.isNaN(deltaOf(directives, name)));
  if (!isValid && !forbidding.some((name) => directives.has(name))) return undefined;
  fields.expires = null;
  return directives;
}

/** True if every member has a name, and no lifetime is a string. Names in capital letters are accepted. */
function isDictionary(text: string): boolean {
  return text
    .replace(quoted, '""')
    .split(",")
    .every((item) => member.test(item.trim()) && !textLifetime.test(item.trim()));
}

const quoted = /"[^"]*"/g;
const member = /^(?:[a-z*][\w.*-]*\s*(?:[=;].*)?)?$/is;
const textLifetime = /^(?:max-age|s-maxage)\s*=\s*"/i;

const none: Directives = new Map();
const forbidding = ["no-store", "no-cache", "private"];

interface RelevantFields {
  cacheControl: string | null;
  cdnCacheControl: string | null;
  expires: string | null;
  date: string | null;
  age: string | null;
  /** True if a field says that the response is not for others, or varies by more than the request shows. */
  forbids: boolean;
}

function relevantFields(response: Response): RelevantFields {
  const found: RelevantFields = {
    cacheControl: null,
    cdnCacheControl: null,
    expires: null,
    date: null,
    age: null,
    forbids: false,
  };
  const fields = response.fields ?? [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    if (isSameName(name, "Cache-Control")) {
      found.cacheControl = found.cacheControl === null ? value : `${found.cacheControl}, ${value}`;
    } else if (isSameName(name, "CDN-Cache-Control")) {
      found.cdnCacheControl = found.cdnCacheControl === null ? value : `${found.cdnCacheControl}, ${value}`;
    } else if (isSameName(name, "Set-Cookie") || isSameName(name, "Content-Range")) found.forbids = true;
    else if (isSameName(name, "Vary")) found.forbids ||= value.split(",").some((item) => item.trim() === "*");
    // RFC 9111 section 5.3: several dates are none, and a response without a valid one has expired.
    else if (isSameName(name, "Expires")) found.expires = found.expires === null ? value : "";
    else if (isSameName(name, "Date")) found.date = value;
    else if (isSameName(name, "Age")) found.age ??= value;
  }
  return found;
}

/** RFC 9111 section 4.2.1, for a shared cache. An argument that makes no sense counts as expired. */
function statedLifetime(directives: Directives, { expires, date }: RelevantFields, now: number): number | undefined {
  const delta = deltaOf(directives, "s-maxage") ?? deltaOf(directives, "max-age");
  if (delta !== undefined) return Number.isNaN(delta) ? 0 : delta;
  if (expires === null) return undefined;
  const end = parseHttpDate(expires);
  return end === undefined ? 0 : Math.max(0, end - ((date === null ? undefined : parseHttpDate(date)) ?? now));
}

/**
 * RFC 9111 section 4.2.3: a response that was fetched elsewhere may have an age already. Of several ages the first counts
 * (section 5.1); one that is no number is ignored.
 */
function ageOf({ age, date }: RelevantFields, now: number): number {
  const [first = ""] = (age ?? "").split(",", 1).map((text) => text.trim());
  const stated = /^\d+$/.test(first) ? Number(first) * 1000 : 0;
  const made = date === null ? undefined : parseHttpDate(date);
  return Math.max(stated, made === undefined ? 0 : now - made);
}
