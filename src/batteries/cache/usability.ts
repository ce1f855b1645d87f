import type { RequestControl } from "./request-control.js";
import type { CacheEntry } from "./store.js";

/** The use of an entry for a request: as it is, while a new one is made, although it is stale, or none. */
export type Usability = "fresh" | "revalidate" | "stale" | "unusable";

/** RFC 9111 section 4: by the fields of the entry and of the request. */
export function usability(entry: CacheEntry, control: RequestControl, now: number): Usability {
  if (control.noCache || now - entry.madeAt + entry.initialAgeMs > control.maxAge) return "unusable";
  const remaining = entry.freshUntil - now;
  if (remaining > 0 && remaining >= control.minFresh) return "fresh";
  if (!entry.mayBeStale || control.minFresh > 0) return "unusable";
  if (-remaining < entry.staleWhileRevalidateMs) return "revalidate";
  return control.maxStale > 0 && -remaining <= control.maxStale ? "stale" : "unusable";
}

/** True if an entry may be sent in place of an error (RFC 5861 section 4). */
export function servesOnError(entry: CacheEntry, control: RequestControl, now: number): boolean {
  return entry.mayBeStale && now - entry.freshUntil < Math.max(entry.staleIfErrorMs, control.staleIfError);
}
