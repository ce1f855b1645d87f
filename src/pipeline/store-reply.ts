import { unavailable } from "../errors/paced.js";
import type { Request } from "../http/request.js";
import { within } from "../kit/time/within.js";

/** Milliseconds that requests have waited for slow replies. */
const waited = new WeakMap<Request, number>();
/** The part of the patience up to which a reply is not slow: requests of a healthy store need no timers. */
const slowPart = 1 / 20;

/**
 * The reply of a shared store to one request. All its replies together may take as long as one call of the store: a request
 * that asks five times would otherwise wait five times for a store that is slow, or for five servers of a cluster that cannot
 * be reached. Rejects with 503 beyond that; the call is under way all the same.
 */
export function storeReply<T>(request: Request, reply: Promise<T>): Promise<T> {
  const patience = request.host?.storePatienceMs ?? Number.POSITIVE_INFINITY;
  const before = waited.get(request) ?? 0;
  const since = performance.now();
  const bounded = before === 0 ? reply : within(reply, Math.max(0, patience - before), late);
  const note = (): void => {
    const passed = performance.now() - since;
    if (passed > patience * slowPart) waited.set(request, (waited.get(request) ?? 0) + passed);
  };
  bounded.then(note, note);
  return bounded;
}

function late(): never {
  throw unavailable(new Error("the request has waited for slow stores as long as one call may take"));
}
