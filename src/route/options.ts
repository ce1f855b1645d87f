import type { Inject } from "../di/depends.js";
import { type Guard, isGuard } from "../guards/guard.js";
import { type DecompressOptions, isDecompressOption } from "../http/content-encoding.js";
import type { BothSpellings } from "../internal/names.js";
import { type Check, type Checks, is, readOptions } from "../internal/options.js";
import { isMiddleware, type Middleware, type MiddlewareFunction } from "../pipeline/middleware.js";
import type { BodyValidator, DescribedSchema } from "../validation/body-validator.js";
import type { StandardSchema } from "../validation/standard-schema.js";
import { type SocketOptions, socketOptionChecks } from "../websocket/options.js";

/*
 * The options of routes. The core declares its own here. A feature adds further ones: it merges their types into one of
 * the three interfaces without members below, and lists their checks as `routeOptions` of its definition.
 */

interface CoreCommonOptions {
  /** Groups the route in the API's documentation. */
  readonly tags?: readonly string[];
  /** A short title in the API's documentation. */
  readonly summary?: string;
  /** A longer text in the API's documentation. */
  readonly description?: string;
  /** Guards that must all pass before the handler runs. */
  readonly guards?: readonly Guard[];
  /** Middleware of this route alone, inside that of the application. */
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
  /** Schema of the query. Input is validated before the handler runs; the result is injected under the same name. */
  readonly query?: StandardSchema;
  /** Schema of the path parameters. */
  readonly params?: StandardSchema;
  /** Schema of the request's header fields. */
  readonly headers?: StandardSchema;
  /** Dependencies to inject, by the names that the handler uses. */
  readonly inject?: Inject;
  /** Leaves the route out of the API's documentation. Default false. */
  readonly hidden?: boolean;
}

interface CoreHttpOptions {
  /** Schema or model of a JSON body. */
  readonly body?: StandardSchema | BodyValidator;
  /**
   * True if `body` is parsed as JSON whatever its Content-Type says, as `curl -d` sends it. Default false: another type
   * than JSON is refused with 415. Applications with sessions always refuse it.
   */
  readonly anyContentType?: boolean;
  /** Schema of a form, url-encoded or multipart. In place of `body`. */
  readonly form?: StandardSchema;
  /** Schema of the handler's result: the result is checked, reduced to the schema's members, and documented. */
  readonly response?: StandardSchema | DescribedSchema;
  /** Members of the operation in the OpenAPI document, merged into the generated ones. */
  readonly openapi?: Readonly<Record<string, unknown>>;
  /** Status of a result that is not a Response. Default 200. */
  readonly status?: number;
  /** Seconds until the client gets 504; 0 for no limit. */
  readonly timeout?: number;
  /** Runs the handler before the body is read; `request.stream()` and `request.parts()` read it. Default false. */
  readonly stream?: boolean;
  /** Largest body in bytes. */
  readonly bodyLimit?: number;
  /** Decodes bodies with a Content-Encoding (gzip, deflate, br). Default false: they get 415. */
  readonly decompress?: boolean | DecompressOptions;
  /** Marks the route as deprecated in the API's documentation. Default false. */
  readonly deprecated?: boolean;
  /** Name of the operation in the OpenAPI document. */
  readonly operationId?: string;
}

/** Options of HTTP and WebSocket routes. Features merge theirs into it. */
export interface CommonRouteOptions extends CoreCommonOptions {}

/** Options of HTTP routes. Features merge theirs into it. */
export interface HttpRouteOptions extends CommonRouteOptions, CoreHttpOptions {}

/** Options of blueprints. Features merge those into it that routes inherit from their blueprint. */
export interface BlueprintOptions {
  /** Tags of every route in it, for the API's documentation. */
  readonly tags?: readonly string[];
  /** Guards of every route in it. */
  readonly guards?: readonly Guard[];
  /** Middleware of every route in it. */
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
}

// Interfaces, because messages of the compiler show their names and not all of their members.
export interface RouteOptions extends BothSpellings<HttpRouteOptions> {}
interface PlainWebSocketRouteOptions extends CommonRouteOptions, SocketOptions {}
export interface WebSocketRouteOptions extends BothSpellings<PlainWebSocketRouteOptions> {}

/** The options of a route as they were read: known keys in camelCase, values checked. */
export type ReadRouteOptions = HttpRouteOptions & Readonly<Record<string, unknown>>;

/** The check of an option that a feature adds, and the places beside HTTP routes that take the option. */
export interface RouteOptionRule {
  readonly check: Check;
  readonly websocket?: true;
  /** Routes inherit it from their blueprint. */
  readonly blueprint?: true;
}

export type RouteOptionRules = {
  readonly [K in keyof HttpRouteOptions | keyof BlueprintOptions]?: RouteOptionRule;
};

const isGuardOption: Check = (value) => (isGuard(value) ? undefined : "a guard (a function, or an object with check)");

const commonChecks: Checks<CoreCommonOptions> = {
  tags: is.strings,
  summary: is.string,
  description: is.string,
  guards: is.list(isGuardOption),
  middleware: is.list(isMiddleware),
  query: is.anything,
  params: is.anything,
  headers: is.anything,
  inject: is.object,
  hidden: is.boolean,
};

const coreHttpChecks: Checks<CoreHttpOptions> = {
  body: is.anything,
  anyContentType: is.boolean,
  form: is.anything,
  response: is.anything,
  openapi: is.object,
  status: is.integer(200, 599),
  timeout: is.number(0),
  stream: is.boolean,
  bodyLimit: is.integer(0),
  decompress: isDecompressOption,
  deprecated: is.boolean,
  operationId: is.text,
};

/** The checks of the core, to which `addRouteOptions` adds those of features. */
const httpChecks: Record<string, Check> = { ...commonChecks, ...coreHttpChecks };
const websocketChecks: Record<string, Check> = { ...commonChecks, ...socketOptionChecks };
const blueprintChecks: Record<string, Check> = {
  tags: commonChecks.tags,
  guards: commonChecks.guards,
  middleware: commonChecks.middleware,
};

/** Adds the options of a feature. */
export function addRouteOptions(rules: RouteOptionRules): void {
  for (const [name, { check, websocket, blueprint }] of Object.entries(rules)) {
    httpChecks[name] = check;
    if (websocket) websocketChecks[name] = check;
    if (blueprint) blueprintChecks[name] = check;
  }
}

export function readRouteOptions(owner: string, given: unknown): ReadRouteOptions {
  return readOptions<Record<string, unknown>>(owner, given, httpChecks);
}

export function readWebSocketOptions(owner: string, given: unknown): ReadRouteOptions {
  return readOptions<Record<string, unknown>>(owner, given, websocketChecks);
}

export function readBlueprintOptions(given: unknown): BlueprintOptions {
  return readOptions("Blueprint", given, blueprintChecks);
}
