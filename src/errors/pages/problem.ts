import { addHeaders, Response } from "../../http/response.js";
import { reasonPhrase } from "../../http/status.js";
import type { HttpError } from "../http-error.js";
import { problemType } from "../table.js";

/** The content type of an error's body: problem details, or plain JSON if the error has its own body. */
export function problemContentType(error: HttpError): string {
  return error.body === undefined ? "application/problem+json" : "application/json";
}

/** Problem details (RFC 9457) of an error, as JSON. Nothing that the client sent is in it. */
export function problemBody(error: HttpError): string {
  if (error.body !== undefined) return JSON.stringify(error.body);
  const title = error.title ?? reasonPhrase(error.status);
  return JSON.stringify({
    type: problemType(error.code),
    title,
    status: error.status,
    detail: error.message,
    error: title,
    ...error.extensions,
  });
}

/** The response to a request that failed with this error. */
export function problemResponse(error: HttpError): Response {
  const response = new Response(problemBody(error), error.status);
  response.type = problemContentType(error);
  if (error.headers) addHeaders(response, error.headers);
  return response;
}
