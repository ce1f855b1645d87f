import { httpError } from "../../../errors/http-error.js";
import type { HostRoute } from "../../../feature/host.js";
import type { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import type { Middleware } from "../../../pipeline/middleware.js";
import type { BoundMethod } from "../bound-method.js";
import { insideCall } from "../current-call.js";
import { answerCall } from "../server/endpoint.js";
import type { Exchange } from "../server/exchange.js";
import { openWeb, type WebCall } from "./web-request.js";
import { webResponse } from "./web-response.js";

/** The calls of requests. Requests that are no calls have the error alone. */
const opened = new WeakMap<Request, WebCall | { readonly error: unknown }>();

/**
 * The route of a method for gRPC-Web and Connect. The outermost middleware turns whatever the pipeline responds into a
 * response of the protocol, so all middleware inside of it sees statuses of HTTP.
 */
export function webRoute(method: BoundMethod, mask: boolean, options: HostRoute["options"]): Omit<HostRoute, "method"> {
  return {
    path: method.path,
    options: { ...options, middleware: [protocol(method, mask)] },
    handler(request, injected) {
      const call = opened.get(request);
      if (call === undefined) throw httpError("NOT_FOUND");
      if ("exchange" in call && call.error === null) return answerCall(call.exchange, injected);
      throw call.error;
    },
  };
}

function protocol(method: BoundMethod, mask: boolean): Middleware {
  return {
    name: "gRPC-Web and Connect",
    slot: "request-id",
    early: true,
    wrap: (next) => (request) => {
      const exchange = open(request, method);
      if (exchange === null) return next(request);
      const response = insideCall(exchange.call, () => next(request));
      const finish = (made: Response): Response => webResponse(exchange, made, mask);
      return response instanceof Promise ? response.then(finish) : finish(response);
    },
  };
}

/** Null if the request is no call. The handler throws the error of a head, inside of all middleware. */
function open(request: Request, method: BoundMethod): Exchange | null {
  try {
    const call = openWeb(request, method);
    opened.set(request, call);
    request.onFinish(() => call.exchange.end());
    return call.exchange;
  } catch (error) {
    opened.set(request, { error });
    return null;
  }
}
