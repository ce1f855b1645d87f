import type { Response } from "../../http/response.js";
import { isBodiless } from "../../http/status.js";

/** The Content-Length to send; -1 for none. `declared` is the one that the response itself has, or -1. */
export function contentLength({ body, status }: Response, isHead: boolean, declared: number): number {
  if (isBodiless(status)) return status === 304 ? declared : -1;
  if (body === null) return isHead && declared !== -1 ? declared : 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : declared;
}
