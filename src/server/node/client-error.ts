import type { Duplex } from "node:stream";
import { type HttpError, httpError } from "../../errors/http-error.js";
import { problemBody, problemContentType } from "../../errors/pages/problem.js";
import { reasonPhrase } from "../../http/status.js";

const lingerMilliseconds = 2000;
const refused = new WeakSet<Duplex>();

/** The error for what node:http found wrong, by its codes. */
export function errorOf(error: Error & { code?: string; rawPacket?: Buffer }): HttpError {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return httpError(error.rawPacket?.includes("\r\n") === false ? "URI_TOO_LONG" : "HEADERS_TOO_LARGE");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return httpError("REQUEST_TIMEOUT");
    case "HPE_INVALID_METHOD":
      return httpError("NOT_IMPLEMENTED");
    case "HPE_INVALID_VERSION":
      return httpError("HTTP_VERSION_NOT_SUPPORTED");
    case "ECONNRESET":
    case "HPE_INVALID_EOF_STATE":
      return httpError("INCOMPLETE_BODY");
    default:
      return httpError("MALFORMED_REQUEST");
  }
}

/** Refuses bytes that node:http could not read as a request, and closes the connection; false if that is done already. */
export function refuseConnection(socket: Duplex, error: HttpError): boolean {
  if (!socket.writable || refused.has(socket)) return false;
  refused.add(socket);
  const body = problemBody(error);
  socket.end(
    `HTTP/1.1 ${error.status} ${reasonPhrase(error.status)}\r\n` +
      `Content-Type: ${problemContentType(error)}\r\n` +
      `Date: ${new Date().toUTCString()}\r\n` +
      `Connection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  return true;
}
