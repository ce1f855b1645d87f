import { describeError, isInstance } from "../errors/describe.js";
import { HttpError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import { jsonResponse, Response } from "../http/response.js";
import { failureResponse } from "./failure.js";
import { prefersHtml } from "./prefers-html.js";
import { problemResponse } from "./problem.js";

/** Makes the page that tells a developer of an error. */
export type ErrorPage = (request: Request, error: unknown) => string;

export interface RenderOptions {
  /** Whether the client may see what went wrong. */
  readonly debug: boolean;
  /** Whether what failed had returned a promise. */
  readonly handler: "sync" | "async";
  /** The page that a browser is shown; null for none. Loaded only where it can be asked for. */
  readonly page: ErrorPage | null;
}

/**
 * The answer to a request that failed with `error`. Only our own `HttpError` says what the client is told; a `status` or
 * `headers` on anything else is not trusted. Never throws, whatever was thrown.
 */
export function renderError(request: Request, error: unknown, options: RenderOptions): Response {
  if (!isInstance(error, HttpError)) return unexpected(request, error, options);
  try {
    return problemResponse(error);
  } catch (failure) {
    return unexpected(request, failure, options);
  }
}

function unexpected(request: Request, error: unknown, options: RenderOptions): Response {
  if (!options.debug) return failureResponse();
  return pageFor(request, error, options.page) ?? debugBody(error, options.handler);
}

function debugBody(error: unknown, handler: RenderOptions["handler"]): Response {
  const { name, message } = describeError(error);
  const what = handler === "async" ? "Async handler error" : "Handler error";
  return jsonResponse(JSON.stringify({ error: `${what}: ${name}: ${message}`, status: 500 }), 500);
}

function pageFor(request: Request, error: unknown, page: ErrorPage | null): Response | null {
  try {
    if (page === null || !prefersHtml(request.source.header("accept"))) return null;
    const response = Response.html(page(request, error), 500);
    response.addField("Cache-Control", "no-store");
    response.addField("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'");
    response.addField("X-Content-Type-Options", "nosniff");
    return response;
  } catch {
    // The page must not hide the error it is about.
    return null;
  }
}
