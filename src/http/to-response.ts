import { onDemand } from "../kit/on-demand.js";
import { ValueError } from "../kit/value-error.js";
import { FileBody } from "./files/file-body.js";
import { fromWebResponse } from "./from-web.js";
import { findUnsettled, settleAll, type Unsettled } from "./json/json-values.js";
import { stringify } from "./json/to-json.js";
import type { Request } from "./request.js";
import { type BodyStream, jsonResponse, Response } from "./response.js";
import { toResponseSymbol } from "./to-response-symbol.js";

const withFiles = onDemand(() => import("./files/send-file.js"));

export { toResponseSymbol };

/** A value that makes its own response. */
export interface Answerable {
  [toResponseSymbol](request: Request): Response | Promise<Response>;
}

/** Makes the response from the awaited result of a handler. `status` is that of the route, or 0 for the default. */
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
    return fromJson(request, value, status);
  }
  if (value instanceof Response) return fromResponse(request, value);
  if (toResponseSymbol in value) return withStatus((value as Answerable)[toResponseSymbol](request), status);
  if (value instanceof Uint8Array) return Response.bytes(value, status || 200);
  if (value instanceof ArrayBuffer) return Response.bytes(new Uint8Array(value), status || 200);
  if (value instanceof globalThis.Response) return fromWebResponse(value);
  if (value instanceof Blob) {
    const response = Response.stream(value.stream(), status || 200);
    response.type = value.type || "application/octet-stream";
    response.addField("Content-Length", String(value.size));
    return response;
  }
  if (Symbol.asyncIterator in value) return Response.stream(value as BodyStream, status || 200);
  if (value instanceof Error) throw value;
  return fromJson(request, value, status);
}

/** Promises are awaited and querysets are run, wherever they are in the result. */
function fromJson(request: Request, value: object, status: number): Response | Promise<Response> {
  const unsettled = findUnsettled(value);
  return unsettled.pending.length === 0 ? written(unsettled, status) : settled(request, unsettled, status);
}

function written({ root }: Unsettled, status: number): Response {
  return jsonResponse(stringify(root.value) ?? "null", status || 200);
}

async function settled(request: Request, unsettled: Unsettled, status: number): Promise<Response> {
  await settleAll(unsettled.pending, (each) => settledValue(request, each));
  return written(unsettled, status);
}

async function settledValue(request: Request, value: PromiseLike<unknown>): Promise<unknown> {
  if (!(toResponseSymbol in value)) return value;
  const { body } = await (value as unknown as Answerable)[toResponseSymbol](request);
  if (typeof body !== "string") throw new ValueError("a result holds a value that makes a response without JSON");
  return JSON.parse(body);
}

/** A handler may return the same response again, so middleware changes a copy. */
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
