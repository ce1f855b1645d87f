import type { Request } from "../../http/request.js";
import { jsonResponse, Response } from "../../http/response.js";
import { describeError, isInstance } from "../describe.js";
import { HttpError } from "../http-error.js";
import { failureResponse } from "./failure.js";
import { prefersHtml } from "./prefers-html.js";
import { problemResponse } from "./problem.js";

/** Makes the error page for developers. */
export type ErrorPage = (request: Request, error: unknown) => string;

export interface RenderOptions {
  /** True if the client may see the error. */
  readonly debug: boolean;
  /** "async" if the handler had returned a promise. */
  readonly handler: "sync" | "async";
  /** The page for browsers, or null. It is loaded in debug mode only. */
  readonly page: ErrorPage | null;
}

/**
 * The response to a request that failed with `error`. Only an `HttpError` decides its own response; a `status` or
 * `headers` of any other error is not trusted. This function never throws.
 */
export function renderError(request: Request, error: unknown, options: RenderOptions): Response {
  if (!isInstance(error, HttpError)) return unexpected(request, error, options);
  try {
    const lost = options.debug && error.status === 404 && request.miss?.reason === "not-found";
    return (lost ? pageFor(request, error, 404, options.page) : null) ?? problemResponse(error);
  } catch (failure) {
    return unexpected(request, failure, options);
  }
}

function unexpected(request: Request, error: unknown, options: RenderOptions): Response {
  if (!options.debug) return failureResponse();
  return pageFor(request, error, 500, options.page) ?? debugBody(error, options.handler);
}

function debugBody(error: unknown, handler: RenderOptions["handler"]): Response {
  const { name, message } = describeError(error);
  const what = handler === "async" ? "Async handler error" : "Handler error";
  return jsonResponse(JSON.stringify({ error: `${what}: ${name}: ${message}`, status: 500 }), 500);
}

/** The page needs its own style only, and no other page can frame it. */
const pagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function pageFor(request: Request, error: unknown, status: number, page: ErrorPage | null): Response | null {
  try {
    if (page === null || !prefersHtml(request.source.header("accept"))) return null;
    const response = Response.html(page(request, error), status);
    response.addField("Cache-Control", "no-store");
    response.addField("Content-Security-Policy", pagePolicy);
    // For browsers that do not know `frame-ancestors`.
    response.addField("X-Frame-Options", "DENY");
    response.addField("X-Content-Type-Options", "nosniff");
    return response;
  } catch {
    // The page must not hide the error it is about.
    return null;
  }
}
