import { cureOf, isInstance } from "../errors/describe.js";
import { HttpError } from "../errors/http-error.js";
import { pacedKind } from "../errors/paced.js";
import { type ErrorPage, renderError } from "../errors/pages/render.js";
import { isAbortOf } from "../http/aborted.js";
import type { Request } from "../http/request.js";
import { Response } from "../http/response.js";
import { toResponse } from "../http/to-response.js";
import { asPromise, isPromise } from "../kit/is-promise.js";
import type { LogFields, Logger } from "../kit/logger.js";
import { Pace } from "../kit/time/pace.js";
import type { OnError } from "./compile.js";
import type { ExceptionHandlers } from "./exceptions.js";

export interface ErrorSettings {
  readonly debug: boolean;
  readonly logger: Logger;
}

/**
 * A circuit is logged when it opens, not for every request that it refuses. An unknown method and a deadline of gRPC are the
 * client's doing.
 */
const unlogged: ReadonlySet<string | undefined> = new Set([
  "CIRCUIT_OPEN",
  "NOT_IMPLEMENTED",
  "UNIMPLEMENTED",
  "DEADLINE_EXCEEDED",
]);

/**
 * The only place where a thrown value becomes a response: by a registered handler, else by the table of errors. The
 * result of a handler gets the status of the error, unless it is a response itself. `page` makes the page that a
 * browser gets in debug mode.
 */
export function createOnError(handlers: ExceptionHandlers, settings: ErrorSettings, page: ErrorPage | null): OnError {
  const paces = { overload: new Pace(), unavailable: new Pace() };
  return (request, error, handler) => {
    if (isResponse(error)) return thrownResponse(request, error, handler);
    request.error = error;
    const custom = handlers.find(error);
    if (!custom) return render(request, error, handler);
    const failed = (second: unknown): Response | Promise<Response> =>
      render(request, second, handler, second === error ? {} : { handled: error });
    const status = isInstance(error, HttpError) ? error.status : 500;
    try {
      const result = custom(request, error);
      const response = isPromise(result)
        ? asPromise(result).then((value) => toResponse(request, value, status))
        : toResponse(request, result, status);
      return response instanceof Promise ? response.catch(failed) : response;
    } catch (second) {
      return failed(second);
    }
  };

  /** `throw Response.json(...)` ends a handler early; it is no error. */
  function thrownResponse(request: Request, thrown: object, handler: "sync" | "async"): Response | Promise<Response> {
    try {
      const response = toResponse(request, thrown, 0);
      return response instanceof Promise ? response.catch((error) => render(request, error, handler)) : response;
    } catch (error) {
      return render(request, error, handler);
    }
  }

  /** `fields`: for an error of an exception handler, the error that it was called for. */
  function render(
    request: Request,
    error: unknown,
    handler: "sync" | "async",
    fields: LogFields = {},
  ): Response | Promise<Response> {
    if (isInstance(error, HttpError)) {
      if (error.status >= 500 && !unlogged.has(error.code)) {
        const kind = pacedKind(error);
        const more = kind === undefined ? {} : paces[kind].next();
        const text = `${request.method} ${request.path} failed with ${error.status}`;
        if (more !== null) settings.logger.warn(text, { error, ...fields, ...more });
      }
    } else if (isAbortOf(request, error)) {
      settings.logger.debug(`${request.method} ${request.path} was aborted`);
    } else {
      const cure = settings.debug ? cureOf(error) : undefined;
      const more = cure === undefined ? fields : { ...fields, cure };
      settings.logger.error(`${request.method} ${request.path} failed`, { error, ...more });
    }
    return renderError(request, error, { debug: settings.debug, handler, page });
  }
}

function isResponse(value: unknown): value is object {
  return isInstance(value, Response) || isInstance(value, globalThis.Response);
}
