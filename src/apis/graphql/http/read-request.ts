import { HttpError } from "../../../errors/http-error.js";
import { isJsonType, parseJson } from "../../../http/json/json.js";
import type { Request } from "../../../http/request.js";
import { malformed, type OperationParameters, type Refusal, readParameters } from "../parameters.js";

/** A request that is no GraphQL request, with its status. */
export class BadRequest {
  constructor(
    readonly status: number,
    readonly message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/**
 * The body of a POST request. Only JSON is accepted: a page of another site can have the browser send a form or a text
 * without asking first, but not JSON.
 */
export function readBody(request: Request): unknown {
  const type = request.source.header("content-type");
  if (type === undefined || !isJsonType(type)) {
    return new BadRequest(415, "A GraphQL request is sent with Content-Type: application/json.");
  }
  try {
    return request.json();
  } catch (error) {
    if (error instanceof HttpError) return new BadRequest(error.status, error.message);
    throw error;
  }
}

/** The parameters of a GET request. */
export function readQuery(request: Request): OperationParameters | Refusal {
  const { query } = request;
  const given: Record<string, unknown> = {};
  for (const name of ["query", "documentId", "operationName"]) {
    const value = query.get(name);
    if (value !== undefined) given[name] = value;
  }
  for (const name of ["variables", "extensions"]) {
    const text = query.get(name);
    if (text === undefined || text === "") continue;
    try {
      given[name] = parseJson(Buffer.from(text));
    } catch {
      return malformed(`'${name}' must be JSON.`);
    }
  }
  return readParameters(given);
}

/**
 * True for a request that a page of another site made with an element, such as an image or a script: the page cannot read
 * the response, but could measure it.
 */
export function isEmbeddedElsewhere(request: Request): boolean {
  const site = request.source.header("sec-fetch-site");
  if (site === undefined || site === "same-origin" || site === "none") return false;
  const mode = request.source.header("sec-fetch-mode");
  return mode === "no-cors";
}
