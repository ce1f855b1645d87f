import type { Request } from "../../http/request.js";

/** Methods whose requests have no body that matters. */
export function isPlain(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** True if the whole body has been read: not in a route with `stream: true`. */
export function isRead(request: Request): boolean {
  return request.bytesRead !== null || (request.source.body?.received ?? null) !== null;
}

/** True if a request carries credentials or has been authenticated. */
export function isPersonal(request: Request): boolean {
  if (request.personal) return true;
  const { source } = request;
  if (source.header("authorization") !== undefined || source.header("cookie") !== undefined) return true;
  if (!request.hasContext) return false;
  const { user, jwt_claims, api_key_name } = request.context;
  return (user ?? jwt_claims ?? api_key_name) !== undefined;
}

/** True if a request asks for a part of the response. Only GET can (RFC 9110 section 14.2). */
export function asksForPart(request: Request): boolean {
  return request.method === "GET" && request.source.header("range") !== undefined;
}
