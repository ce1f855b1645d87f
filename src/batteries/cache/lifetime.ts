import { parseHttpDate } from "../../http/http-date.js";
import type { Response } from "../../http/response.js";
import { isSameName } from "../../http/response-fields.js";
import { type Directives, deltaOf, parseCacheControl } from "./cache-control.js";
import type { CachePlan } from "./options.js";

/** For how long an answer may be given again. Times are in milliseconds. */
export interface Lifetime {
  readonly fresh: number;
  /** How old it was when it was made. */
  readonly initialAge: number;
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  readonly mayBeStale: boolean;
}

/** Statuses kept by the ttl, and those kept only when the answer itself says how long (RFC 9111 section 4.2.2). */
const byDefault = new Set([200, 203, 204, 300, 301, 308]);
const whenExplicit = new Set([302, 303, 307]);

/** For how long an answer may be kept by its own account or by the plan's; null when not at all. */
export function lifetimeOf(response: Response, plan: CachePlan, now: number): Lifetime | null {
  const isKept = byDefault.has(response.status);
  if (!isKept && !whenExplicit.has(response.status)) return null;
  const fields = relevantFields(response);
  if (fields.forbids) return null;
  const directives = fields.cacheControl === null ? none : parseCacheControl(fields.cacheControl);
  if (directives === null || forbidding.some((name) => directives.has(name))) return null;
  const stated = statedLifetime(directives, fields, now);
  if (stated === undefined && !isKept) return null;
  const fresh = stated ?? plan.ttl;
  // RFC 9111 section 4.2.4: each of these forbids to give an answer that is not fresh, s-maxage included.
  const mayBeStale = !["must-revalidate", "proxy-revalidate", "s-maxage"].some((name) => directives.has(name));
  const grace = (name: string, otherwise: number): number => {
    if (!mayBeStale) return 0;
    const delta = deltaOf(directives, name) ?? otherwise;
    return Number.isNaN(delta) ? 0 : delta;
  };
  const staleWhileRevalidate = grace("stale-while-revalidate", plan.staleWhileRevalidate);
  const staleIfError = grace("stale-if-error", plan.staleIfError);
  const initialAge = ageOf(fields, now);
  if (fresh + Math.max(staleWhileRevalidate, staleIfError) <= initialAge) return null;
  return { fresh, initialAge, staleWhileRevalidate, staleIfError, mayBeStale };
}

const none: Directives = new Map();
const forbidding = ["no-store", "no-cache", "private"];

interface RelevantFields {
  cacheControl: string | null;
  expires: string | null;
  date: string | null;
  age: string | null;
  /** Whether a field says that the answer is not for others, or depends on more than anybody can tell. */
  forbids: boolean;
}

function relevantFields(response: Response): RelevantFields {
  const found: RelevantFields = { cacheControl: null, expires: null, date: null, age: null, forbids: false };
  const fields = response.fields ?? [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    if (isSameName(name, "Cache-Control")) {
      found.cacheControl = found.cacheControl === null ? value : `${found.cacheControl}, ${value}`;
    } else if (isSameName(name, "Set-Cookie") || isSameName(name, "Content-Range")) found.forbids = true;
    else if (isSameName(name, "Vary")) found.forbids ||= value.split(",").some((item) => item.trim() === "*");
    // RFC 9111 section 5.3: several dates are none, and an answer without a valid one has expired.
    else if (isSameName(name, "Expires")) found.expires = found.expires === null ? value : "";
    else if (isSameName(name, "Date")) found.date = value;
    else if (isSameName(name, "Age")) found.age = value;
  }
  return found;
}

/** RFC 9111 section 4.2.1, for a cache that many share. What makes no sense counts as expired. */
function statedLifetime(directives: Directives, { expires, date }: RelevantFields, now: number): number | undefined {
  const delta = deltaOf(directives, "s-maxage") ?? deltaOf(directives, "max-age");
  if (delta !== undefined) return Number.isNaN(delta) ? 0 : delta;
  if (expires === null) return undefined;
  const end = parseHttpDate(expires);
  return end === undefined ? 0 : Math.max(0, end - ((date === null ? undefined : parseHttpDate(date)) ?? now));
}

/** RFC 9111 section 4.2.3: an answer that was fetched elsewhere may have been old by then. */
function ageOf({ age, date }: RelevantFields, now: number): number {
  const stated = age !== null && /^\d+$/.test(age) ? Number(age) * 1000 : 0;
  const made = date === null ? undefined : parseHttpDate(date);
  return Math.max(stated, made === undefined ? 0 : now - made);
}
