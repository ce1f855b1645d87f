import { derivedSource } from "../../http/derived-source.js";
import { Request } from "../../http/request.js";

/** Fields that concern one client at one moment; a response for everybody must not depend on them. */
const ofTheMoment = /^(?:if-.*|range|cache-control|pragma)$/;

/** A copy of a request, for a response that is made after the client has got its own. */
export function detachedRequest(request: Request): Request {
  const { body, method, path, search } = request.source;
  const bytes = body === null ? null : Uint8Array.from(request.bytes());
  const copy = new Request(derivedSource(request.source, { method, path, search, bytes, without: ofTheMoment }));
  copy.bytesRead = bytes;
  copy.host = request.host;
  copy.pattern = request.pattern;
  copy.paramNames = request.paramNames;
  copy.paramValues = request.paramValues;
  copy.routeBodyLimit = request.routeBodyLimit;
  if (request.hasContext) Object.assign(copy.context, request.context);
  return copy;
}
