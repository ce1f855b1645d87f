import { type ErrorPage, renderError } from "../error-pages/render.js";
import { isInstance } from "../errors/describe.js";
import { HttpError } from "../errors/http-error.js";
import { isAbortOf } from "../http/aborted.js";
import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import { toResponse } from "../http/to-response.js";
import { isPromise } from "../internal/is-promise.js";
import type { Logger } from "../internal/logger.js";
import type { OnError } from "./compile.js";
import type { ExceptionHandlers } from "./exceptions.js";

export interface ErrorSettings {
  readonly debug: boolean;
  readonly logger: Logger;
}

/**
 * The one place where what was thrown becomes a response: by a registered handler, else by the table of errors. `page` is
 * what a browser is shown while debug is on.
 */
export function createOnError(handlers: ExceptionHandlers, settings: ErrorSettings, page: ErrorPage | null): OnError {
  return (request, error, handler) => {
    request.error = error;
    const custom = handlers.find(error);
    if (!custom) return render(request, error, handler);
    const failed = (second: unknown): Response | Promise<Response> => render(request, second, handler);
    try {
      const result = custom(request, error);
      const response = isPromise(result)
        ? result.then((value) => toResponse(request, value, 0))
        : toResponse(request, result, 0);
      return response instanceof Promise ? response.catch(failed) : response;
    } catch (second) {
      return failed(second);
    }
  };

  function render(request: Request, error: unknown, handler: "sync" | "async"): Response | Promise<Response> {
    if (isInstance(error, HttpError)) {
      // A circuit is logged when it opens, not once more for every request that it refuses.
      if (error.status >= 500 && error.code !== "CIRCUIT_OPEN") {
        settings.logger.warn(`${request.method} ${request.path} answered ${error.status}`, { error });
      }
    } else if (isAbortOf(request, error)) {
      settings.logger.debug(`${request.method} ${request.path} was aborted`);
    } else {
      settings.logger.error(`${request.method} ${request.path} failed`, { error });
    }
    return renderError(request, error, { debug: settings.debug, handler, page });
  }
}
