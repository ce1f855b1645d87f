import type { Guard } from "../../guards/guard.js";
import { isPlainObject } from "../../kit/options.js";
import type { Middleware, MiddlewareFunction } from "../../pipeline/middleware.js";
import { type RouteDefinition, settingsOf } from "../../routing/definition.js";
import { parsePattern } from "../../routing/pattern.js";
import { isBodyValidator } from "../../validation/body-validator.js";
import type { ErrorKind, ErrorResponses } from "./error-responses.js";
import { headingOf, type OperationIds, pascalCase } from "./operation-id.js";
import { parametersOf, withGiven } from "./parameters.js";
import { requestBodyOf } from "./request-body.js";
import { responsesOf } from "./responses.js";
import type { SchemaComponents } from "./schema-components.js";
import type { SecuritySchemes } from "./security.js";
import type { OpenApiObject } from "./types.js";

/** Features of the application that may refuse a request, unless a route says otherwise. */
export interface Enabled {
  readonly rateLimit: boolean;
  readonly circuitBreaker: boolean;
  readonly csrf: boolean;
}

/** An application as its documentation sees it. */
export interface Api {
  readonly routes: readonly RouteDefinition[];
  readonly middleware: readonly Middleware[];
  readonly guards: readonly Guard[];
  readonly enabled: Enabled;
}

/** Sources of an operation, beside its route. */
export interface Surroundings extends Api {
  readonly components: SchemaComponents;
  readonly errors: ErrorResponses;
  readonly security: SecuritySchemes;
  readonly ids: OperationIds;
}

export function operationOf(route: RouteDefinition, method: string, around: Surroundings): OpenApiObject {
  const { path, options } = route;
  const id = operationId(route, method, around.ids);
  const hint = pascalCase(id);
  const requirements = around.security.requirementsOf(middlewareOf(route, around), path);
  const body = requestBodyOf(options, around.components, hint);
  const errors = errorsOf(route, method, around, requirements.length > 0);
  const { parameters, ...extra } = options.openapi ?? {};
  const operation: OpenApiObject = {
    ...descriptionOf(route, id),
    operationId: id,
    ...(options.deprecated && { deprecated: true }),
    ...optional("parameters", withGiven(parametersOf(path, options, around.components, hint), parameters)),
    ...(body && { requestBody: body }),
    responses: responsesOf({ ...options, errors }, around.components, around.errors, hint),
    ...optional("security", requirements),
  };
  return merged(operation, extra);
}

/** A WebSocket route, for which OpenAPI has no word: an operation without the parts of requests. */
export function socketOf(route: RouteDefinition, around: Surroundings): OpenApiObject {
  const { path, options } = route;
  const hint = pascalCase(`connect${path}`);
  return {
    ...descriptionOf(route, ""),
    ...optional("parameters", parametersOf(path, options, around.components, hint)),
    ...optional("security", around.security.requirementsOf(middlewareOf(route, around), path)),
  };
}

export function tagsOf({ scopes, options }: RouteDefinition): string[] {
  return [...new Set([...scopes.flatMap((scope) => scope.tags), ...(options.tags ?? [])])];
}

function descriptionOf(route: RouteDefinition, id: string): OpenApiObject {
  const { summary, description } = route.options;
  const heading = summary ?? headingOf(id);
  return {
    ...optional("tags", tagsOf(route)),
    ...(heading !== "" && { summary: heading }),
    ...(description !== undefined && { description }),
  };
}

/** A name given to a route of several methods is that of each with its method behind it. */
function operationId({ methods, path, options }: RouteDefinition, method: string, ids: OperationIds): string {
  const given = options.operationId;
  if (given === undefined) return ids.derive(method, path);
  return ids.claim(methods.length === 1 ? given : `${given}_${method.toLowerCase()}`, `${method} ${path}`);
}

function middlewareOf({ scopes, options }: RouteDefinition, around: Surroundings): Middleware[] {
  const own = (options.middleware ?? []).filter((item: Middleware | MiddlewareFunction) => typeof item === "object");
  return [...around.middleware, ...scopes.flatMap((scope) => scope.middleware), ...(own as Middleware[])];
}

/** Responses of the framework before, or in place of, those of the handler. */
function errorsOf(route: RouteDefinition, method: string, around: Surroundings, authenticated: boolean): ErrorKind[] {
  const { path, options, scopes } = route;
  const { rateLimit = around.enabled.rateLimit, circuitBreaker = around.enabled.circuitBreaker } = settingsOf(route);
  const guarded =
    around.guards.length + scopes.flatMap((scope) => scope.guards).length + (options.guards?.length ?? 0) > 0;
  const takesBody = options.body !== undefined || options.form !== undefined;
  const unsafe = !["GET", "HEAD", "OPTIONS"].includes(method);
  const validated = [options.params, options.query, options.headers, options.form].some(
    (schema) => schema !== undefined,
  );
  const modelBody = isBodyValidator(options.body);
  const errors: [kind: ErrorKind, applies: boolean][] = [
    ["BadRequest", takesBody && !modelBody],
    ["InvalidModel", modelBody],
    ["Unauthorized", guarded],
    ["Unauthenticated", authenticated],
    ["Forbidden", guarded || (unsafe && around.enabled.csrf)],
    ["NotFound", parsePattern(path).paramNames.length > 0],
    ["PayloadTooLarge", takesBody],
    ["UnsupportedMediaType", takesBody],
    ["ValidationFailed", validated || (options.body !== undefined && !modelBody)],
    ["TooManyRequests", Boolean(rateLimit)],
    ["InternalServerError", true],
    ["ServiceUnavailable", Boolean(circuitBreaker)],
  ];
  return errors.filter(([, present]) => present).map(([kind]) => kind);
}

function optional(name: string, list: readonly unknown[]): OpenApiObject {
  return list.length === 0 ? {} : { [name]: list };
}

/** Objects are merged member by member; anything else takes the place of what was there. */
function merged(base: OpenApiObject, extra: Readonly<Record<string, unknown>>): OpenApiObject {
  const result = { ...base };
  for (const [name, value] of Object.entries(extra)) {
    const known = result[name];
    result[name] = isPlainObject(known) && isPlainObject(value) && !("$ref" in known) ? merged(known, value) : value;
  }
  return result;
}
