import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import type { StoreSource } from "./shared-stores.js";

/** A compiled piece of the pipeline. It never throws and never rejects. */
export type Run = (request: Request) => Response | Promise<Response>;

/** Turns a thrown value into a response; never throws itself. */
export type OnError = (request: Request, error: unknown, handler: "sync" | "async") => Response | Promise<Response>;

/** Runs the rest of the pipeline. It always gives a response: errors have become one by then (see `request.error`). */
export type Next = () => Response | Promise<Response>;

/** The function form: runs code before and after `next`. */
export type MiddlewareFunction = (request: Request, next: Next) => unknown;

/** The object form, which is cheaper: no closure, and no promise unless `before` or `after` returns one. */
export interface Middleware {
  readonly name?: string;
  /**
   * True if it reads only the head of the request. It then runs before the body is read, so that a refused request is
   * never buffered.
   */
  readonly early?: boolean;
  /** The position in the pipeline. Middleware of users is at "user", in the order added. */
  readonly slot?: Slot;
  /** Returns a response to send at once, or nothing to continue. */
  before?(request: Request): unknown;
  /** Returns a response to send instead of the given one, or nothing to send that one. */
  after?(request: Request, response: Response): unknown;
  /** The middleware as one function, for code that must run around the call of `next`. */
  around?: MiddlewareFunction;
  /**
   * @internal Called once at start with the rest of the pipeline. For middleware that runs it with another request, or
   * that keeps a value between the way in and the way out without a closure per request.
   */
  wrap?(next: Run, onError: OnError): Run;
  /** Called once at start, before the pipeline is compiled: the place to ask for a shared store. */
  prepare?(stores: StoreSource): void;
  /** Called once per route at start: a sentence about other middleware of the route that cannot work beside this one. */
  conflict?(all: readonly Middleware[], owner: string, path: string): string | undefined;
  /** True if it does nothing for requests to this path or pattern: lists of routes and API documents leave it out there. */
  skips?(path: string): boolean;
  /** Called once per route at start: returns the middleware for that route, or null to leave it out. */
  forRoute?(route: RouteInfo): Middleware | null;
}

/** The description of a route that middleware gets when the pipeline is compiled. */
export interface RouteInfo {
  /** The pattern; null for requests that match no route. */
  readonly pattern: string | null;
  readonly methods: readonly string[];
  readonly websocket: boolean;
  readonly options: Readonly<Record<string, unknown>>;
  /** True for a route of the framework that only has the middleware before `firstForUsers`. */
  readonly internal: boolean;
}

/**
 * The order of the pipeline from the outside in, independent of the order in which features are enabled.
 * docs/lifecycle.md explains it.
 */
export const slots = [
  "request-id",
  "tracing",
  "logging",
  "metrics",
  "trusted-hosts",
  "cors",
  "security-headers",
  "compression",
  "etag",
  "ip-filter",
  "rate-limit",
  "session",
  "csrf",
  "user",
  "guards",
  "cache",
  "circuit-breaker",
] as const;

export type Slot = (typeof slots)[number];

/** The first slot for requests of users: rate limits, sessions and authentication start here. */
const firstForUsers: Slot = "rate-limit";

/** The middleware of one route, in the order in which it runs. */
export function forRoute(middleware: readonly Middleware[], route: RouteInfo): Middleware[] {
  const chosen = middleware.map((item) => {
    if (!item.forRoute) return item;
    const own = item.forRoute(route);
    return own && { slot: item.slot, name: item.name, early: item.early, ...own };
  });
  const present = chosen.filter((item) => item !== null) as Middleware[];
  const end = route.internal ? slots.indexOf(firstForUsers) : slots.length;
  // Within a slot the order given stays.
  return present.filter((item) => placeOf(item) < end).sort((a, b) => placeOf(a) - placeOf(b));
}

function placeOf({ slot = "user", name }: Middleware): number {
  const place = slots.indexOf(slot);
  if (place !== -1) return place;
  const subject = name === undefined ? "a middleware" : `the middleware '${name}'`;
  throw new ValueError(`${subject} cannot be at slot '${slot}'${didYouMean(slot, slots)}`);
}

export function isMiddleware(value: unknown): string | undefined {
  if (typeof value === "function") return undefined;
  if (typeof value === "object" && value !== null) {
    const { before, after, around, forRoute } = value as Middleware;
    if ([before, after, around, forRoute].some((member) => typeof member === "function")) return undefined;
  }
  return "a middleware: a function (request, next), or an object with before or after";
}

export function toMiddleware(given: Middleware | MiddlewareFunction): Middleware {
  if (typeof given !== "function") return given;
  refuseForeign(given);
  return { name: given.name, around: given };
}

/** A function with three or four parameters is a middleware of Express: its second parameter would get `next`. */
function refuseForeign({ name, length }: MiddlewareFunction): void {
  if (length < 3) return;
  const subject = name === "" ? "a middleware" : `the middleware '${name}'`;
  throw new ValueError(
    length === 3
      ? `${subject} has the parameters (req, res, next), and it is called with (request, next): write it in this form, ` +
          "or look for the feature that does the same, such as enableCors()"
      : `${subject} has the parameters (err, req, res, next): ` +
          "errors are handled by app.exceptionHandler(Error, (request, error) => ...)",
  );
}
