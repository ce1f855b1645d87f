import { type CacheRouteOptions, isCacheOption } from "../batteries/cache/options.js";
import { type BreakerOptions, isBreakerOption } from "../batteries/circuit-breaker/options.js";
import { areResponses, type DocumentedResponse } from "../batteries/openapi/documented-response.js";
import { isRateLimitOption, type RateLimitConfig, type RateLimitOptions } from "../batteries/rate-limit/config.js";
import type { Inject, Provided } from "../di/depends.js";
import type { Guard } from "../guards/guard.js";
import { isGuard } from "../guards/guard.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { Answerable } from "../http/to-response.js";
import type { BothSpellings, EitherSpelling } from "../internal/names.js";
import { type Checks, is } from "../internal/options.js";
import type { Middleware, MiddlewareFunction } from "../pipeline/middleware.js";
import type { PathParams } from "../routing/params.js";
import type { BodyOutput, BodyValidator, DescribedSchema } from "../validation/body-validator.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../validation/standard-schema.js";
import { type SocketOptions, socketOptionChecks } from "../websocket/options.js";

/** What a route may be given beside its path and its handler. */
export interface PlainRouteOptions {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly guards?: readonly Guard[];
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
  /** Schemas by which input is validated before the handler runs; what they make of it is injected by the same name. */
  readonly body?: StandardSchema | BodyValidator;
  /** In place of `body`: a form, url-encoded or multipart. */
  readonly form?: StandardSchema;
  readonly query?: StandardSchema;
  readonly params?: StandardSchema;
  readonly headers?: StandardSchema;
  /** What the handler returns: checked, reduced to what the schema names, and documented. */
  readonly response?: StandardSchema | DescribedSchema;
  /** Further answers for the documentation, by status: a description, a schema, or both; false for one it never gives. */
  readonly responses?: Readonly<Record<number, string | StandardSchema | DescribedSchema | DocumentedResponse | false>>;
  /** Members of the operation in the OpenAPI document, merged into what is worked out. */
  readonly openapi?: Readonly<Record<string, unknown>>;
  /** Dependencies to inject, by the names the handler gives them. */
  readonly inject?: Inject;
  /** The status of a result that is not a Response. */
  readonly status?: number;
  /** Seconds after which the answer is 504; 0 for no bound. */
  readonly timeout?: number;
  /** Runs the handler before the body is read: `request.stream()` and `request.parts()` read it. */
  readonly stream?: boolean;
  /** Bytes that a body may have here. */
  readonly bodyLimit?: number;
  /** How often a client may ask here, in place of what `enableRateLimit()` says; false for as often as it likes. */
  readonly rateLimit?: RateLimitConfig | EitherSpelling<RateLimitOptions> | false;
  /** How answers are cached here, with or without `enableCaching()`; false for not at all. */
  readonly cache?: EitherSpelling<CacheRouteOptions> | boolean;
  /** How the circuit of this route behaves, with or without `enableCircuitBreaker()`; false for none. */
  readonly circuitBreaker?: EitherSpelling<BreakerOptions> | boolean;
  /** False leaves the body as it is where `enableCompression()` would compress it. */
  readonly compression?: boolean;
  /** False leaves the ETag of `enableEtag()` out. */
  readonly etag?: boolean;
  /** False leaves the route out of what `enableMetrics()` counts. */
  readonly metrics?: boolean;
  readonly deprecated?: boolean;
  readonly operationId?: string;
  /** Leaves the route out of the documentation. */
  readonly hidden?: boolean;
}

export type RouteOptions = BothSpellings<PlainRouteOptions>;

export const routeOptionChecks: Checks<PlainRouteOptions> = {
  tags: is.strings,
  summary: is.string,
  description: is.string,
  guards: is.list((value) => (isGuard(value) ? undefined : "a guard (a function, or an object with check)")),
  middleware: is.list(isMiddleware),
  body: is.anything,
  form: is.anything,
  query: is.anything,
  params: is.anything,
  headers: is.anything,
  response: is.anything,
  responses: areResponses,
  openapi: is.object,
  inject: is.object,
  status: is.integer(200, 599),
  timeout: is.number(0),
  stream: is.boolean,
  bodyLimit: is.integer(0),
  rateLimit: isRateLimitOption,
  cache: isCacheOption,
  circuitBreaker: isBreakerOption,
  compression: is.boolean,
  etag: is.boolean,
  metrics: is.boolean,
  deprecated: is.boolean,
  operationId: is.text,
  hidden: is.boolean,
};

/** What of a route makes no sense where there is no body, no response and no end. */
type HttpOnly =
  | "body"
  | "form"
  | "response"
  | "responses"
  | "openapi"
  | "status"
  | "timeout"
  | "stream"
  | "bodyLimit"
  | "deprecated"
  | "operationId"
  | "cache"
  | "circuitBreaker"
  | "compression"
  | "etag";

type PlainWebSocketRouteOptions = Omit<PlainRouteOptions, HttpOnly> & SocketOptions;

export type WebSocketRouteOptions = BothSpellings<PlainWebSocketRouteOptions>;

export const websocketOptionChecks: Checks<PlainWebSocketRouteOptions> = {
  tags: routeOptionChecks.tags,
  summary: routeOptionChecks.summary,
  description: routeOptionChecks.description,
  guards: routeOptionChecks.guards,
  middleware: routeOptionChecks.middleware,
  query: routeOptionChecks.query,
  params: routeOptionChecks.params,
  headers: routeOptionChecks.headers,
  inject: routeOptionChecks.inject,
  rateLimit: routeOptionChecks.rateLimit,
  metrics: routeOptionChecks.metrics,
  hidden: routeOptionChecks.hidden,
  ...socketOptionChecks,
};

type SchemaPlace = "body" | "form" | "query" | "params" | "headers";

/** What a handler is given as its second argument: what the schemas made of the input, and the dependencies. */
export type InjectedBy<Options> = {
  [Place in SchemaPlace as Place extends keyof Options ? Place : never]: OutputOf<Options[Place & keyof Options]>;
} & (Options extends { readonly inject: infer I } ? Provided<I> : unknown);

type OutputOf<S> = S extends StandardSchema ? SchemaOutput<S> : BodyOutput<S>;

export type Handler<Path extends string, Options> = (
  request: Request<PathParams<Path>>,
  injected: InjectedBy<Options>,
) => ResultOf<Options>;

/** What a handler may return: anything, or what the schema of its response takes. */
type ResultOf<Options> = [Options] extends [{ readonly response: infer S extends StandardSchema }]
  ? Answer<SchemaInput<S>>
  : unknown;

/** What fits the schema, or what says itself how it is sent. */
type Answer<Value> = Fitting<Value> | Promise<Fitting<Value>>;
type Fitting<Value> = Value | FinishedAnswer | (undefined extends Value ? void : never);
type FinishedAnswer = Response | globalThis.Response | Answerable | Uint8Array | AsyncIterable<Uint8Array | string>;

/** Marks what is no option, so that the compiler's message says so. */
export type OnlyKnown<Given, Known> = {
  readonly [K in Exclude<keyof Given, keyof Known>]: `'${K & string}' is not an option here`;
};

/** A handler registered for a method, as the application keeps it. */
export interface RouteDefinition {
  readonly methods: readonly string[];
  readonly path: string;
  readonly websocket: boolean;
  readonly options: PlainRouteOptions & Readonly<Record<string, unknown>>;
  readonly handler: (...args: never[]) => unknown;
  /** The blueprints around the route, outermost first. */
  readonly scopes: readonly Scope[];
  /**
   * A route for those who look after the server, not for its users: neither the application's middleware and guards nor
   * anything that refuses users (limits, sessions and the like) stands before it.
   */
  readonly internal?: boolean;
}

/** The options of a route, and those it has from the blueprints around it. */
export function settingsOf(route: RouteDefinition): RouteDefinition["options"] {
  return Object.assign({}, ...route.scopes.map((scope) => scope.options), route.options);
}

/** What a blueprint adds to its routes. Read when the application starts. */
export interface Scope {
  /** Options that its routes have unless they say otherwise. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly middleware: readonly Middleware[];
  readonly guards: readonly Guard[];
  readonly tags: readonly string[];
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
  return typeof given === "function" ? { name: given.name, around: given } : given;
}
