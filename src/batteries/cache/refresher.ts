import { httpError } from "../../errors/http-error.js";
import { derivedSource } from "../../http/derived-source.js";
import { discardBody } from "../../http/discard.js";
import { addVary } from "../../http/fields/response-fields.js";
import { Request } from "../../http/request.js";
import type { OnError, Run } from "../../pipeline/middleware.js";
import { onBehalfOf } from "../request-context/request-context.js";
import { entryOf } from "./entry.js";
import type { Flights, Landing } from "./flights.js";
import type { CachePlan } from "./options.js";
import type { CacheEntry, CacheStore } from "./store.js";
import type { StoreCalls } from "./store-calls.js";
import { beginValidation, confirms, renewed } from "./validation.js";

export interface CachedRoute {
  readonly next: Run;
  readonly onError: OnError;
  readonly plan: CachePlan;
  /** Milliseconds for a new response that no client waits for; 0 for no limit. */
  readonly timeout: number;
}

interface Stale {
  readonly route: CachedRoute;
  readonly request: Request;
  readonly key: string;
}

/** Responses, and values, that are made at the same time to replace stale ones. */
export const maxRefreshes = 100;

/** Makes new responses in place of stale ones that have just been sent. */
export class Refresher {
  #count = 0;

  constructor(
    private readonly store: CacheStore,
    private readonly flights: Flights,
    private readonly calls: StoreCalls,
  ) {}

  /** Runs the handler after the response of the request has been sent, unless another request does so already. */
  later({ key, route, request }: Stale, entry: CacheEntry): void {
    if (this.flights.has(key) || this.#count >= maxRefreshes) return;
    this.#count++;
    const flight = this.flights.begin(key);
    const copy = detachedRequest(request);
    const timer =
      route.timeout > 0 ? setTimeout(() => copy.abort(httpError("GATEWAY_TIMEOUT")), route.timeout).unref() : undefined;
    copy.onAbort(() => this.flights.end(flight, "again"));
    setImmediate(async () => {
      try {
        this.flights.end(flight, await this.#refresh(route, copy, key, entry));
      } catch (error) {
        this.calls.complain(error);
        this.flights.end(flight, "alone");
      }
      this.#count--;
      clearTimeout(timer);
      copy.finish();
    });
  }

  async #refresh({ next, plan }: CachedRoute, request: Request, key: string, stale: CacheEntry): Promise<Landing> {
    const ticket = await this.store.begin();
    const validation = beginValidation(request, stale);
    const made = await onBehalfOf(request, () => next(request));
    validation?.end();
    const response = validation !== null && confirms(made, validation) ? renewed(stale, made) : made;
    for (const name of plan.vary) addVary(response, name);
    const entry = request.personal ? null : entryOf(request, response, plan, key);
    if (entry !== null) {
      return (await this.store.put(ticket, key, entry)) ? { entry, status: "HIT" } : "again";
    }
    discardBody(response);
    if (response.status < 500) await this.store.remove(key);
    return "alone";
  }
}

/** Fields that concern one client at one moment; a response for all clients must not depend on them. */
const ofTheMoment = /^(?:if-.*|range|cache-control|pragma)$/;

/** A copy of a request, for a response that is made after the client has got its own. */
function detachedRequest(request: Request): Request {
  const { body, method, path, search } = request.source;
  const bytes = body === null ? null : Uint8Array.from(request.bytes());
  const copy = new Request(derivedSource(request.source, { method, path, search, bytes, without: ofTheMoment }));
  copy.bytesRead = bytes;
  copy.host = request.host;
  copy.pattern = request.pattern;
  copy.paramNames = request.paramNames;
  copy.paramValues = request.paramValues;
  copy.routeBodyLimit = request.routeBodyLimit;
  if (request.hasContext) Object.assign(copy.context, request.context);
  return copy;
}
