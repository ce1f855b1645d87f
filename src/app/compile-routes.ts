import type { Container } from "../di/container.js";
import { describeError } from "../errors/describe.js";
import { HttpError, httpError } from "../errors/http-error.js";
import { stackFrames } from "../errors/pages/stack-frames.js";
import { type Guard, guardStage } from "../guards/guard.js";
import { decompressRules } from "../http/body/content-encoding.js";
import { requestMethods } from "../http/methods.js";
import type { Request } from "../http/request.js";
import { Response } from "../http/response.js";
import type { Logger } from "../kit/logger.js";
import { Deadlines } from "../kit/time/deadlines.js";
import { milliseconds } from "../kit/time/duration.js";
import { compile, type OnError, type Run } from "../pipeline/compile.js";
import { type AnyHandler, endpoint, type Step } from "../pipeline/endpoint.js";
import { forRoute, type Middleware, type RouteInfo, toMiddleware } from "../pipeline/middleware.js";
import { type RouteDefinition, settingsOf } from "../routing/definition.js";
import type { Pattern } from "../routing/pattern.js";
import { parsePattern } from "../routing/pattern.js";
import type { OnDemand } from "./on-demand.js";

/** A route in the table; its pipeline is compiled at start. */
export interface AppRoute {
  readonly definition: RouteDefinition;
  readonly pattern: Pattern;
  run: Run;
}

/** The middleware and guards that all routes have. */
export interface RouteParts {
  readonly middleware: readonly Middleware[];
  readonly guards: readonly Guard[];
}

export interface CompileParts extends RouteParts {
  readonly container: Container;
  readonly onError: OnError;
  readonly logger: Logger;
  readonly requestTimeout: number;
  readonly validateLimit: number | undefined;
  /** Loaded where a route has schemas of its input. */
  readonly validation: OnDemand["validation"];
  /** Loaded where a route has a schema of its response. */
  readonly responses: OnDemand["responses"];
  /** Makes the endpoint of a WebSocket route. */
  readonly websocket: (route: RouteDefinition) => AnyHandler;
}

export function appRoute(definition: RouteDefinition): AppRoute {
  return { definition, pattern: parsePattern(definition.path), run: notCompiled };
}

/** Gives every route its pipeline. */
export function compileRoutes(routes: readonly AppRoute[], parts: CompileParts): void {
  const deadlines = new Map<number, Deadlines>();
  parts.container.check();
  for (const route of routes) route.run = compileRoute(route.definition, parts, deadlines);
  warnOfConflict(routes, parts);
}

/** Said once, for the first route: the cause is the same for all. */
function warnOfConflict(routes: readonly AppRoute[], parts: CompileParts): void {
  for (const { definition } of routes) {
    const all = middlewareOf(definition, parts);
    const conflict = all.map((item) => item.conflict?.(all, ownerOf(definition), definition.path)).find(Boolean);
    if (conflict === undefined) continue;
    parts.logger.warn(conflict);
    return;
  }
}

export function ownerOf({ methods, path }: RouteDefinition): string {
  return `${methods.join(", ")} ${path}`;
}

function middlewareOf({ scopes, options }: RouteDefinition, parts: RouteParts): Middleware[] {
  return [
    ...parts.middleware,
    ...scopes.flatMap((scope) => scope.middleware),
    ...(options.middleware ?? []).map(toMiddleware),
  ];
}

/** The middleware and the guards of one route, in the order in which they run. */
export function stagesOf(definition: RouteDefinition, parts: RouteParts): Middleware[] {
  const { options, scopes, websocket, methods, path, internal = false } = definition;
  if (definition.inner) return options.guards?.length ? [guardStage(options.guards)] : [];
  const guards = [...parts.guards, ...scopes.flatMap((scope) => scope.guards), ...(options.guards ?? [])];
  const middleware = middlewareOf(definition, parts);
  if (guards.length > 0 && !internal) middleware.push(guardStage(guards));
  return forRoute(middleware, { pattern: path, methods, websocket, options: settingsOf(definition), internal });
}

function compileRoute(definition: RouteDefinition, parts: CompileParts, deadlines: Map<number, Deadlines>): Run {
  const { options, websocket, path } = definition;
  const owner = ownerOf(definition);
  const onError = pointing(parts.onError, definition);
  const steps: Step[] = [];
  const validation = parts.validation?.validationStep(
    options,
    owner,
    parsePattern(path).paramNames,
    parts.validateLimit,
  );
  if (validation) steps.push(validation);
  if (options.inject) steps.push(parts.container.step(options.inject, owner));
  let handler = websocket ? parts.websocket(definition) : (definition.handler as AnyHandler);
  if (options.response !== undefined && parts.responses !== null) {
    handler = parts.responses.respondingTo(handler, options.response, owner);
  }
  const streams = options.stream === true || websocket;
  const timeout = milliseconds(options.timeout ?? (streams ? 0 : parts.requestTimeout));
  return compile({
    middleware: stagesOf(definition, parts),
    endpoint: endpoint(handler, steps, options.status ?? 0, onError),
    onError,
    readBody: !streams,
    bodyLimit: options.bodyLimit ?? null,
    decompress: decompressRules(options.decompress),
    deadlines: timeout > 0 ? deadlinesOf(deadlines, timeout) : null,
  });
}

/**
 * An error without a frame of the application gets one: the line that registers the route. A queryset that a handler returns
 * runs when the handler is no longer on the stack.
 */
function pointing(onError: OnError, definition: RouteDefinition): OnError {
  return (request, error, handler) => {
    const place = definition.place?.();
    try {
      if (place && error instanceof Error && !(error instanceof HttpError)) {
        const frames = stackFrames(describeError(error));
        if (frames.every(({ owner }) => owner !== "application")) {
          error.stack += `\n    at ${ownerOf(definition)} (${place})`;
        }
      }
    } catch {
      // A proxy can throw, and a frozen error takes no frame.
    }
    return onError(request, error, handler);
  };
}

const unrouted: RouteInfo = { pattern: null, methods: [], websocket: false, options: {}, internal: false };

/** The pipeline of a request that matches no route: the application's middleware runs for it as for any other. */
export function compileUnrouted(parts: CompileParts): Run {
  return compile({
    middleware: forRoute(parts.middleware, unrouted),
    endpoint: (request) => {
      if (request.path === "*") return new Response(null, 204);
      return parts.onError(request, routingError(request), "sync");
    },
    onError: parts.onError,
    readBody: false,
    bodyLimit: null,
    decompress: null,
    deadlines: null,
  });
}

const knownMethods = new Set(requestMethods);

/** The only place that decides between 400, 404, 405, 426 and 501. */
function routingError({ method, miss }: Request): HttpError {
  switch (miss?.reason) {
    case "malformed-path":
      return httpError("MALFORMED_PATH");
    case "method-not-allowed":
      return httpError("METHOD_NOT_ALLOWED", undefined, { headers: { Allow: miss.allow.join(", ") } });
    case "upgrade-required":
      return httpError("UPGRADE_REQUIRED", undefined, { headers: { Upgrade: "websocket", Connection: "Upgrade" } });
    default:
      return httpError(knownMethods.has(method) ? "NOT_FOUND" : "NOT_IMPLEMENTED");
  }
}

function deadlinesOf(known: Map<number, Deadlines>, milliseconds: number): Deadlines {
  let deadlines = known.get(milliseconds);
  if (!deadlines) known.set(milliseconds, (deadlines = new Deadlines(milliseconds)));
  return deadlines;
}

export const notCompiled: Run = () => {
  throw new Error("the application has not been started");
};
