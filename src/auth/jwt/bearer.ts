import { Request } from "../../http/request.js";
import { unauthorized } from "../unauthorized.js";

const scheme = /^bearer +/i;
const subprotocol = /^bearer *, *([\w.-]+)$/i;

/**
 * The token of a request, as it was sent. A page cannot set Authorization for a WebSocket, but it can offer
 * subprotocols: `new WebSocket(url, ["bearer", token])`. A token in the address would end up in logs.
 */
export function bearerToken(request: Request): string | undefined {
  const header = request.source.header("authorization");
  if (header === undefined) return request.source.wantsWebSocket ? offeredToken(request) : undefined;
  if (header.startsWith("Bearer ") && header.charCodeAt(7) !== 0x20) return header.slice(7);
  const match = scheme.exec(header);
  return match ? header.slice(match[0].length) : undefined;
}

function offeredToken(request: Request): string | undefined {
  return subprotocol.exec(request.source.header("sec-websocket-protocol") ?? "")?.[1];
}

/** A token that is given, or that of a request; throws 401 if the request has none. */
export function tokenOf(given: string | Request): string {
  if (typeof given === "string") return given;
  const token = given instanceof Request ? bearerToken(given) : undefined;
  if (token === undefined) throw unauthorized("A bearer token is required.", "Bearer");
  return token;
}
