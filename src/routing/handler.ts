import type { Provided } from "../di/depends.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { Answerable } from "../http/to-response.js";
import type { OutputOf } from "../validation/body-validator.js";
import type { SchemaInput, StandardSchema } from "../validation/standard-schema.js";
import type { WebSocket } from "../websocket/socket.js";

type SchemaPlace = "body" | "form" | "query" | "params" | "headers";

/** The second argument of a handler: the output of the schemas, and the dependencies. */
export type InjectedBy<Options> = {
  [Place in SchemaPlace as Place extends keyof Options ? Place : never]: OutputOf<Options[Place & keyof Options]>;
} & (Options extends { readonly inject: infer I } ? Provided<I> : unknown);

/**
 * The handler of an HTTP route, for handlers that stand apart from it: `const show: Handler<"/books/{id}"> = (request) => ...`.
 * `Options` is the type of the route's options, where schemas or dependencies are injected.
 */
export type Handler<Path extends string = string, Options = unknown> = (
  request: Request<PathParams<Path>>,
  injected: InjectedBy<Options>,
) => ResultOf<Options>;

/**
 * The same type for the parameters of routers. The compiler compares two types of one name by their arguments, and finds no
 * difference between two paths; types of different names are compared by their members, so that params are compared.
 */
export type RouteHandler<Path extends string, Options> = (
  request: Request<PathParams<Path>>,
  injected: InjectedBy<Options>,
) => ResultOf<Options>;

/** The handler of a WebSocket route. */
export type SocketHandler<Path extends string = string, Options = unknown> = (
  socket: WebSocket<PathParams<Path>>,
  injected: InjectedBy<Options>,
) => unknown;

/** The same type for the parameters of routers: see `RouteHandler`. */
export type RouteSocketHandler<Path extends string, Options> = (
  socket: WebSocket<PathParams<Path>>,
  injected: InjectedBy<Options>,
) => unknown;

/** The result of a handler: anything, or the input of the response's schema. */
type ResultOf<Options> = [Options] extends [{ readonly response: infer S extends StandardSchema }]
  ? Answer<SchemaInput<S>>
  : unknown;

/** A value that fits the schema, or one that says itself how it is sent. */
type Answer<Value> = Fitting<Value> | Promise<Fitting<Value>>;
type Fitting<Value> = Value | FinishedAnswer | (undefined extends Value ? void : never);
type FinishedAnswer = Response | globalThis.Response | Answerable | Uint8Array | AsyncIterable<Uint8Array | string>;

/**
 * Marks a member that is no option, so that the compiler's message says so. Nothing where all are known, not even an object
 * type without members: the compiler would then accept a function as options.
 */
export type OnlyKnown<Given, Known> = [Exclude<keyof Given, keyof Known>] extends [never]
  ? unknown
  : { readonly [K in Exclude<keyof Given, keyof Known>]: `'${K & string}' is not an option here` };

/** The names of the parameters in a path pattern: `"/books/{id}/{rest:*}"` gives `"id" | "rest"`. */
type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Bare}:*` ? Bare : Name) | ParamNames<Rest>
  : never;

/** The parameters of a path pattern, all strings. A path that is not known to the compiler gives any name. */
export type PathParams<Path extends string> = string extends Path
  ? Record<string, string>
  : { readonly [Name in ParamNames<Path>]: string };
