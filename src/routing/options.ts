import { isInject } from "../di/depends.js";
import { type Guard, isGuard } from "../guards/guard.js";
import { type DecompressOptions, isDecompressOption } from "../http/body/content-encoding.js";
import { type Fields, type OptionsOf, option, options } from "../kit/config.js";
import type { BothSpellings } from "../kit/names.js";
import { type Check, is } from "../kit/options.js";
import { isMiddleware, type Middleware, type MiddlewareFunction } from "../pipeline/middleware.js";
import type { BodyValidator, DescribedSchema } from "../validation/body-validator.js";
import type { StandardSchema } from "../validation/standard-schema.js";
import { type SocketOptions, socketFields } from "../websocket/options.js";

/*
 * The options of routes. The core declares its own here. A feature adds further ones: it merges their types into one of
 * the three interfaces without members below, and lists their checks as `routeOptions` of its definition.
 */

export const isGuardOption: Check<Guard> = (value) =>
  isGuard(value) ? undefined : "a guard (a function, or an object with check)";

const isSchema = is.anything as Check<StandardSchema>;

/** Options of routes that blueprints have too. */
const sharedFields = {
  /** Groups the routes in the API's documentation. */
  tags: option(is.strings),
  /** Guards that must all pass before the handler runs. */
  guards: option(is.list(isGuardOption)),
  /** Middleware of this place alone, inside that of the application. */
  middleware: option<readonly (Middleware | MiddlewareFunction)[]>(is.list(isMiddleware)),
};

const commonFields = {
  ...sharedFields,
  /** A short title in the API's documentation. */
  summary: option(is.string),
  /** A longer text in the API's documentation. */
  description: option(is.string),
  /** Schema of the query. Input is validated before the handler runs; the result is injected under the same name. */
  query: option(isSchema),
  /** Schema of the path parameters. */
  params: option(isSchema),
  /** Schema of the request's header fields. */
  headers: option(isSchema),
  /** Dependencies to inject, by the names that the handler uses. */
  inject: option(isInject),
  /** Leaves the route out of the API's documentation. Default false. */
  hidden: option(is.boolean),
};

const httpFields = {
  /** Schema or model of a JSON body. */
  body: option<StandardSchema | BodyValidator>(is.anything),
  /**
   * True if `body` is parsed as JSON whatever its Content-Type says, as `curl -d` sends it. Default false: another type
   * than JSON is refused with 415. Applications with sessions always refuse it.
   */
  anyContentType: option(is.boolean),
  /** Schema of a form, url-encoded or multipart. In place of `body`. */
  form: option(isSchema),
  /** Schema of the handler's result: the result is checked, reduced to the schema's members, and documented. */
  response: option<StandardSchema | DescribedSchema>(is.anything),
  /** Members of the operation in the OpenAPI document, merged into the generated ones. */
  openapi: option<Readonly<Record<string, unknown>>>(is.object),
  /** Status of a result that is not a Response. Default 200. */
  status: option(is.integer(200, 599)),
  /** Time until the client gets 504; 0 for no limit. Default: the `requestTimeout` of the server. */
  timeout: option.duration(null, 0, "24d"),
  /** Runs the handler before the body is read; `request.stream()` and `request.parts()` read it. Default false. */
  stream: option(is.boolean),
  /** Largest body in bytes. */
  bodyLimit: option(is.integer(0)),
  /** Decodes bodies with a Content-Encoding (gzip, deflate, br). Default false: they get 415. */
  decompress: option<boolean | DecompressOptions>(isDecompressOption),
  /** Marks the route as deprecated in the API's documentation. Default false. */
  deprecated: option(is.boolean),
  /** Name of the operation in the OpenAPI document. */
  operationId: option(is.text),
};

/** Options of HTTP and WebSocket routes. Features merge theirs into it. */
export interface CommonRouteOptions extends OptionsOf<typeof commonFields> {}

/** Options of HTTP routes. Features merge theirs into it. */
export interface HttpRouteOptions extends CommonRouteOptions, OptionsOf<typeof httpFields> {}

/** Options of blueprints. Features merge those into it that routes inherit from their blueprint. */
export interface BlueprintOptions extends OptionsOf<typeof sharedFields> {}

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

// `addRouteOptions` adds the options of features.
const httpOptions: Fields = { ...commonFields, ...httpFields };
const websocketOptions: Fields = { ...commonFields, ...socketFields };
const blueprintOptions: Fields = { ...sharedFields };

/** The names that features cannot give to their options. */
export const ownRouteOptions: readonly string[] = Object.keys({ ...httpOptions, ...websocketOptions });

/** Adds the options of a feature. */
export function addRouteOptions(rules: RouteOptionRules): void {
  for (const [name, { check, websocket, blueprint }] of Object.entries(rules)) {
    const added = { [name]: option(check) };
    Object.assign(httpOptions, added);
    if (websocket) Object.assign(websocketOptions, added);
    if (blueprint) Object.assign(blueprintOptions, added);
  }
}

export function readRouteOptions(owner: string, given: unknown): ReadRouteOptions {
  return options(owner, httpOptions).readGiven([given]);
}

export function readWebSocketOptions(owner: string, given: unknown): ReadRouteOptions {
  return options(owner, websocketOptions).readGiven([given]);
}

export function readBlueprintOptions(given: unknown): BlueprintOptions {
  return options("Blueprint", blueprintOptions).readGiven([given]);
}
