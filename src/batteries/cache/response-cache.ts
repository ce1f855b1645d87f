import { httpError } from "../../errors/http-error.js";
import { problemResponse } from "../../errors/pages/problem.js";
import { discardBody } from "../../http/discard.js";
import { addVary, setField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { type Duration, milliseconds } from "../../kit/time/duration.js";
import type { Middleware, RouteInfo, Run } from "../../pipeline/middleware.js";
import { storeReply } from "../../pipeline/store-reply.js";
import { boundedText } from "./bounded-text.js";
import { bodyDigest, cacheKey, ownerOf } from "./cache-key.js";
import { asksForPart, isPersonal, isPlain, isRead } from "./cacheable-request.js";
import { cutToRange } from "./cut-to-range.js";
import { answerFrom, type CacheStatus, entryOf, isUnchanged } from "./entry.js";
import { ExcludedPaths } from "./excluded-paths.js";
import { type Flight, Flights, type Landing } from "./flights.js";
import { changedAddresses, isSafe } from "./invalidation.js";
import { matchesVary } from "./memory-store.js";
import { type CachePlan, type CacheSettings, cachePlan } from "./options.js";
import { PendingWrites } from "./pending-writes.js";
import { type CachedRoute, Refresher } from "./refresher.js";
import { type RequestControl, requestControl } from "./request-control.js";
import { type CacheEntry, type CacheStore, cacheTime } from "./store.js";
import type { StoreCalls } from "./store-calls.js";
import { servesOnError, usability } from "./usability.js";
import { beginValidation, confirms, renewed } from "./validation.js";

type Answer = Response | Promise<Response>;

/** One request that looks for a response. */
interface Search {
  readonly route: CachedRoute;
  readonly request: Request;
  readonly control: RequestControl;
  readonly key: string;
  /** An entry that is too old for this request, but can be validated, or sent in place of an error. */
  stale: CacheEntry | undefined;
  /** The number of times it may still wait for a response that another request makes. */
  patience: number;
}

const maxPassing = 1000;

/** Caches responses and reuses them: RFC 9111, for a cache that many clients share. */
export class ResponseCache {
  readonly #store: CacheStore;
  readonly #general: CacheSettings | null;
  readonly #methods: ReadonlySet<string>;
  readonly #excluded: ExcludedPaths;
  readonly #requestTimeout: number;
  readonly #calls: StoreCalls;
  readonly #flights = new Flights();
  readonly #refresher: Refresher;
  readonly #writes = new PendingWrites();
  /** Keys whose last response could not be stored: requests for them do not wait for each other. */
  readonly #passing = new Set<string>();

  /** `general` are the settings for all routes; null if only some are cached. */
  constructor(store: CacheStore, general: CacheSettings | null, requestTimeout: number, calls: StoreCalls) {
    this.#store = store;
    this.#general = general;
    this.#methods = new Set((general?.methods ?? ["GET", "HEAD"]).map((method) => method.toUpperCase()));
    this.#excluded = new ExcludedPaths(general?.excludePaths ?? []);
    this.#requestTimeout = requestTimeout;
    this.#calls = calls;
    this.#refresher = new Refresher(store, this.#flights, this.#calls);
  }

  forRoute(info: RouteInfo): Middleware | null {
    if (info.pattern === null || info.websocket) return null;
    const plan = cachePlan(info.options["cache"], this.#general);
    const keeps = plan !== null && info.methods.some((method) => isPlain(method) || this.#methods.has(method));
    if (!keeps && info.methods.every(isSafe)) return null;
    const withBodies = keeps && info.methods.some((method) => !isPlain(method) && this.#methods.has(method));
    const limit = info.options["timeout"] ?? (info.options["stream"] === true ? 0 : this.#requestTimeout);
    return {
      // A body that is part of the key must be read first.
      early: !withBodies,
      wrap: (next, onError) => {
        const route = keeps ? { next, onError, plan, timeout: milliseconds(limit as Duration) } : null;
        return (request) => {
          const { method } = request;
          if (route !== null && (isPlain(method) || this.#methods.has(method))) return this.#answer(route, request);
          return isSafe(method) ? next(request) : this.#change(next, request);
        };
      },
    };
  }

  /** Resolves when every response is stored that is on its way to the store. */
  settled(): Promise<void> {
    return this.#writes.settled();
  }

  #answer(route: CachedRoute, request: Request): Answer {
    if (!this.#concerns(route.plan, request)) return this.#bypass(route, request);
    const control = requestControl(request);
    if (control.noStore) return this.#bypass(route, request);
    const owner = route.plan.credentials === "vary" && isPersonal(request) ? ownerOf(request) : "";
    const key = cacheKey(
      request.method,
      request,
      owner,
      isPlain(request.method) ? "" : bodyDigest(request, request.bytes()),
    );
    const search: Search = { route, request, control, key, stale: undefined, patience: 3 };
    let found: CacheEntry | undefined | Promise<CacheEntry | undefined>;
    try {
      found = request.method === "HEAD" ? this.#findForHead(search, owner) : this.#find(search, key);
    } catch (error) {
      return this.#withoutStore(search, error);
    }
    if (!(found instanceof Promise)) return this.#use(search, found);
    return storeReply(request, found).then(
      (entry) => this.#use(search, entry),
      (error: unknown) => this.#withoutStore(search, error),
    );
  }

  /** True if the response may come from the cache, as far as the request shows. */
  #concerns(plan: CachePlan, request: Request): boolean {
    const { source } = request;
    if (!this.#methods.has(request.method)) return false;
    if (source.body !== null && (isPlain(request.method) || !isRead(request))) return false;
    if (plan.credentials === "bypass" && isPersonal(request)) return false;
    // RFC 9111 section 4.3.2: these are for the handler.
    if (source.header("if-match") !== undefined || source.header("if-unmodified-since") !== undefined) return false;
    return this.#excluded.isEmpty || !this.#excluded.has(request.path);
  }

  #find({ request }: Search, key: string): CacheEntry | undefined | Promise<CacheEntry | undefined> {
    return this.#store.find(key, (name) => request.source.header(name));
  }

  /** A response to GET is also used for HEAD; never the other way round. */
  #findForHead(search: Search, owner: string): CacheEntry | undefined | Promise<CacheEntry | undefined> {
    const isFresh = (entry: CacheEntry | undefined): boolean =>
      entry !== undefined && usability(entry, search.control, cacheTime()) === "fresh";
    const pick = (ofGet: CacheEntry | undefined): CacheEntry | undefined | Promise<CacheEntry | undefined> => {
      if (isFresh(ofGet)) return ofGet;
      const ofHead = this.#find(search, search.key);
      return ofHead instanceof Promise ? ofHead.then((entry) => entry ?? ofGet) : (ofHead ?? ofGet);
    };
    const found = this.#find(search, cacheKey("GET", search.request, owner));
    return found instanceof Promise ? found.then(pick) : pick(found);
  }

  #use(search: Search, entry: CacheEntry | undefined): Answer {
    if (asksForPart(search.request)) return this.#usePart(search, entry);
    if (entry !== undefined) {
      switch (usability(entry, search.control, cacheTime())) {
        case "fresh":
          return answerFrom(search.request, entry, "HIT");
        case "revalidate":
          this.#refresher.later(search, entry);
          return answerFrom(search.request, entry, "STALE");
        case "stale":
          return answerFrom(search.request, entry, "STALE");
      }
      search.stale = entry;
    }
    if (search.control.onlyIfCached) return notCached();
    return this.#make(search, search.key);
  }

  /** A part of an entry that is fresh. Otherwise the handler runs: its response may be a part, which is not stored. */
  #usePart({ route, request, control }: Search, entry: CacheEntry | undefined): Answer {
    if (entry === undefined || usability(entry, control, cacheTime()) !== "fresh") {
      return control.onlyIfCached ? notCached() : this.#bypass(route, request);
    }
    return cutToRange(request, answerFrom(request, entry, "HIT"), entry);
  }

  /** Runs the handler, or waits for the response that another request makes. */
  #make(search: Search, flightKey: string): Answer {
    let ticket: number | Promise<number>;
    try {
      ticket = this.#store.begin(search.key);
    } catch (error) {
      return this.#withoutStore(search, error);
    }
    if (!(ticket instanceof Promise)) return this.#joinOrRun(search, flightKey, ticket);
    return storeReply(search.request, ticket).then(
      (value) => this.#joinOrRun(search, flightKey, value),
      (error: unknown) => this.#withoutStore(search, error),
    );
  }

  #joinOrRun(search: Search, flightKey: string, ticket: number): Answer {
    const { request, route, control } = search;
    const insists = control.noCache || control.maxAge < Number.POSITIVE_INFINITY;
    const together = search.patience-- > 0 && !insists && !this.#passing.has(flightKey);
    const landing = together ? this.#flights.join(flightKey) : null;
    if (landing !== null) return landing.then((value) => this.#land(search, value));
    // The key covers the authentication before the cache. Only the handler's own use of it makes the response personal.
    const wasPersonal = request.personal;
    request.personal = false;
    const validation = beginValidation(request, search.stale);
    const finish = (response: Response, flight: Flight | null): Answer => {
      validation?.end();
      const isForOne = request.personal;
      request.personal = wasPersonal || isForOne;
      try {
        if (validation !== null && confirms(response, validation)) {
          return this.#finish(search, renewed(validation.entry, response), isForOne, ticket, flight, "REVALIDATED");
        }
        return this.#finish(search, response, isForOne, ticket, flight, "MISS");
      } catch (error) {
        // The bytes of a body cannot be copied if they were moved to another thread.
        if (flight !== null) this.#flights.end(flight, "alone");
        return route.onError(request, error, "async");
      }
    };
    const answer = route.next(request);
    // Also for a response that is ready at once: it may take a while to store it.
    const flight = together ? this.#flights.begin(flightKey) : null;
    if (!(answer instanceof Promise)) return finish(answer, flight);
    if (flight !== null) request.onAbort(() => this.#flights.end(flight, "again"));
    return answer.then((response) => finish(response, flight));
  }

  #land(search: Search, landing: Landing): Answer {
    const { request } = search;
    // The client has disconnected. 499 is the status that nginx uses for that.
    if (request.aborted) return new Response(null, 499);
    if (landing === "again") return this.#make(search, search.key);
    if (landing === "alone") {
      search.patience = 0;
      return this.#make(search, search.key);
    }
    const { entry, status } = landing;
    if (matchesVary(entry, (name) => request.source.header(name))) return answerFrom(request, entry, status);
    const variant = entry.vary.map(([name]) => request.source.header(name) ?? null);
    return this.#make(search, boundedText(`${search.key}\n${JSON.stringify(variant)}`));
  }

  #finish(
    search: Search,
    response: Response,
    isForOne: boolean,
    ticket: number,
    flight: Flight | null,
    status: "MISS" | "REVALIDATED",
  ): Answer {
    const { request, route, stale, key } = search;
    if (response.status >= 500 && stale !== undefined && servesOnError(stale, search.control, cacheTime())) {
      discardBody(response);
      if (flight !== null) this.#flights.end(flight, { entry: stale, status: "STALE" });
      return answerFrom(request, stale, "STALE");
    }
    for (const name of route.plan.vary) addVary(response, name);
    const entry = isForOne ? null : entryOf(request, response, route.plan, key);
    if (entry === null) {
      if (flight !== null) this.#flights.end(flight, "alone");
      // With a 304, the handler says that the stored response still holds.
      if (response.status < 500 && response.status !== 304) this.#supersede(search);
      return labelled(response, status);
    }
    this.#passing.delete(key);
    const land = (kept: boolean): void => {
      if (flight !== null) this.#flights.end(flight, kept ? { entry, status: "HIT" } : "again");
    };
    const kept = this.#calls.try(() => this.#store.put(ticket, key, entry), false);
    if (!(kept instanceof Promise)) land(kept);
    const isCopy = status === "REVALIDATED" || (entry.status === 200 && isUnchanged(request, entry));
    const answer = isCopy ? answerFrom(request, entry, status) : labelled(response, "MISS");
    if (!(kept instanceof Promise)) return answer;
    const written = kept.then(land);
    return this.#writes.add(written, entry.size) ? answer : written.then(() => answer);
  }

  /** The newest response cannot be stored, so the stored one no longer holds. */
  #supersede({ key, stale }: Pick<Search, "key" | "stale">): void {
    if (this.#passing.size >= maxPassing) this.#passing.clear();
    this.#passing.add(key);
    if (stale !== undefined) void this.#calls.try(() => this.#store.remove(key), undefined);
  }

  /** Runs a request that may change something: the responses of its address are dropped if it did not fail. */
  #change(next: Run, request: Request): Answer {
    const forget = (response: Response): Answer => {
      const tags = changedAddresses(request, response);
      if (tags.length === 0) return response;
      const done = this.#calls.try(() => {
        const dropped = this.#store.invalidate(tags);
        return dropped instanceof Promise ? storeReply(request, dropped) : dropped;
      }, 0);
      return done instanceof Promise ? done.then(() => response) : response;
    };
    const answer = next(request);
    return answer instanceof Promise ? answer.then(forget) : forget(answer);
  }

  #bypass({ next }: CachedRoute, request: Request): Answer {
    const answer = isSafe(request.method) ? next(request) : this.#change(next, request);
    return answer instanceof Promise
      ? answer.then((response) => labelled(response, "BYPASS"))
      : labelled(answer, "BYPASS");
  }

  #withoutStore(search: Search, error: unknown): Answer {
    this.#calls.complain(error);
    return this.#bypass(search.route, search.request);
  }
}

function labelled(response: Response, status: CacheStatus): Response {
  setField(response, "X-Cache", status);
  return response;
}

/** RFC 9111 section 5.2.1.7. */
function notCached(): Response {
  return problemResponse(
    httpError("GATEWAY_TIMEOUT", "The cache holds no response, and the request asked for a cached one only."),
  );
}
