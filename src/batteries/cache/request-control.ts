import type { Request } from "../../http/request.js";
import { deltaOf, parseCacheControl } from "./cache-control.js";

/** The cache directives of a request (RFC 9111 section 5.2.1). Times are in milliseconds. */
export interface RequestControl {
  readonly noStore: boolean;
  readonly noCache: boolean;
  readonly onlyIfCached: boolean;
  /** The largest age of the response. */
  readonly maxAge: number;
  /** Time for which it must stay fresh. */
  readonly minFresh: number;
  /** Time for which it may have been stale. */
  readonly maxStale: number;
  /** The same for a response in place of an error (RFC 5861). */
  readonly staleIfError: number;
}

const nothingAsked: RequestControl = {
  noStore: false,
  noCache: false,
  onlyIfCached: false,
  maxAge: Number.POSITIVE_INFINITY,
  minFresh: 0,
  maxStale: 0,
  staleIfError: 0,
};

export function requestControl(request: Request): RequestControl {
  const field = request.source.header("cache-control");
  if (field === undefined) {
    // RFC 9111 section 5.4: only for clients that know of nothing newer.
    const pragma = request.source.header("pragma");
    return pragma !== undefined && /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(pragma)
      ? { ...nothingAsked, noCache: true }
      : nothingAsked;
  }
  const directives = parseCacheControl(field);
  if (directives === null) return { ...nothingAsked, noCache: true };
  const stale = directives.get("max-stale");
  return {
    noStore: directives.has("no-store"),
    noCache: directives.has("no-cache"),
    onlyIfCached: directives.has("only-if-cached"),
    maxAge: orElse(deltaOf(directives, "max-age"), Number.POSITIVE_INFINITY, 0),
    minFresh: orElse(deltaOf(directives, "min-fresh"), 0, Number.POSITIVE_INFINITY),
    maxStale: stale === null ? Number.POSITIVE_INFINITY : orElse(deltaOf(directives, "max-stale"), 0, 0),
    staleIfError: orElse(deltaOf(directives, "stale-if-error"), 0, 0),
  };
}

/** The value of a directive; `absent` without it, and `senseless` if its argument makes no sense. */
function orElse(delta: number | undefined, absent: number, senseless: number): number {
  if (delta === undefined) return absent;
  return Number.isNaN(delta) ? senseless : delta;
}
