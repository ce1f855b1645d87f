import { onDemand } from "../internal/on-demand.js";
import { ValueError } from "../internal/value-error.js";
import { FileBody } from "./file-body.js";
import type { Request } from "./request.js";
import { type BodyStream, jsonResponse, Response } from "./response.js";
import { toJson } from "./to-json.js";

const withFiles = onDemand(() => import("./send-file.js"));
const withWeb = onDemand(() => import("./web.js"));

/**
 * A value that knows how it is answered carries a method under this symbol; querysets and models do, so that the
 * pipeline never needs to know them.
 */
export const toResponseSymbol: unique symbol = Symbol.for("stoa.toResponse");

export interface Answerable {
  [toResponseSymbol](request: Request): Response | Promise<Response>;
}

/** Makes the response from what a handler returned (already awaited). `status` is the route's, 0 for the default. */
export function toResponse(request: Request, value: unknown, status: number): Response | Promise<Response> {
  switch (typeof value) {
    case "object":
      return value === null ? jsonResponse("null", status || 200) : fromObject(request, value, status);
    case "string": {
      const response = new Response(value);
      if (status) response.status = status;
      return response;
    }
    case "undefined":
      return new Response(null, status || 204);
    case "number":
    case "boolean":
      return jsonResponse(JSON.stringify(value), status || 200);
    default:
      throw new ValueError(`a handler returned a ${typeof value}, which cannot be sent`);
  }
}

function fromObject(request: Request, value: object, status: number): Response | Promise<Response> {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype) {
    return jsonResponse(toJson(value)!, status || 200);
  }
  if (value instanceof Response) return fromResponse(request, value);
  if (toResponseSymbol in value) return withStatus((value as Answerable)[toResponseSymbol](request), status);
  if (value instanceof Uint8Array) return Response.bytes(value, status || 200);
  if (value instanceof ArrayBuffer) return Response.bytes(new Uint8Array(value), status || 200);
  if (value instanceof globalThis.Response) return withWeb((web) => web.fromWebResponse(value));
  if (value instanceof Blob) {
    const response = Response.stream(value.stream(), status || 200);
    response.type = value.type || "application/octet-stream";
    response.addField("Content-Length", String(value.size));
    return response;
  }
  if (Symbol.asyncIterator in value) return Response.stream(value as BodyStream, status || 200);
  if (value instanceof Error) throw value;
  return jsonResponse(toJson(value) ?? "null", status || 200);
}

/** A handler may keep a response and return it again, so what middleware adds for one answer goes to a copy. */
function fromResponse(request: Request, response: Response): Response | Promise<Response> {
  if (response.body instanceof FileBody) return withFiles((files) => files.sendFile(request, response));
  if (response.given) return response;
  const copy = response.clone();
  copy.given = true;
  return copy;
}

function withStatus(response: Response | Promise<Response>, status: number): Response | Promise<Response> {
  if (!status) return response;
  if (response instanceof Promise) return response.then((answer) => withStatus(answer, status));
  if (response.status === 200) response.status = status;
  return response;
}
