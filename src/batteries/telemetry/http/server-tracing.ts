import type { Host } from "../../../feature/host.js";
import { FileBody } from "../../../http/files/file-body.js";
import type { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import type { RpcRoute } from "../../../kit/tracer.js";
import type { Middleware, RouteInfo, Run } from "../../../pipeline/middleware.js";
import { type ContextSpan, quietFrame, runIn } from "../trace/context.js";
import type { TelemetryTracer } from "../trace/tracer.js";
import type { RequestDurations } from "./durations.js";
import { ServerSpan, ServerSpanStart, schemeOf } from "./server-span.js";

export interface ServerTracingParts {
  readonly host: Host;
  readonly tracer: TelemetryTracer;
  /** Null if metrics are not exported. */
  readonly durations: RequestDurations | null;
  readonly recordQuery: boolean;
}

/** The span of each request. It is the current span of everything that runs for the request. */
export function serverTracing(parts: ServerTracingParts): Middleware {
  return {
    name: "tracing",
    slot: "tracing",
    early: true,
    forRoute: (route) => ({ wrap: (next) => (isLeftOut(route) ? quietly(next) : traced(route, next, parts)) }),
  };
}

function isLeftOut(route: RouteInfo): boolean {
  return route.internal || route.options["telemetry"] === false;
}

/** Probes and the live page are asked all the time: their work is not recorded. */
function quietly(next: Run): Run {
  return (request) => runIn(quietFrame, next, request);
}

function traced(route: RouteInfo, next: Run, { host, tracer, durations, recordQuery }: ServerTracingParts): Run {
  const { pattern, options } = route;
  const start = new ServerSpanStart(pattern, host, recordQuery, (options["rpc"] as RpcRoute | undefined) ?? null);
  const observed = durations?.forRoute(pattern);

  function begin(request: Request): ContextSpan {
    const { parent, baggage } = tracer.received(request.source);
    start.request = request;
    const span = tracer.begin(start, parent, baggage, ServerSpan);
    start.request = null;
    return span;
  }

  function ended(request: Request, span: ContextSpan, status: number): void {
    const now = performance.now();
    observed?.(request.method, schemeOf(request), status, now - request.startedAt);
    if (span instanceof ServerSpan) span.finish(status, now);
  }

  function finish(request: Request, span: ContextSpan, response: Response): Response {
    const { body, status } = response;
    // A body that is sent in pieces ends later than the handler.
    if (typeof body === "object" && body !== null && (body instanceof FileBody || Symbol.asyncIterator in body)) {
      request.onFinish(() => ended(request, span, status));
    } else {
      ended(request, span, status);
    }
    return response;
  }

  return (request) => {
    request.startedAt = performance.now();
    const span = begin(request);
    request.serverSpan = span;
    const response = runIn(span, next, request);
    if (response instanceof Promise) return response.then((inner) => finish(request, span, inner));
    return finish(request, span, response);
  };
}
