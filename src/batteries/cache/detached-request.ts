import { receivedBody } from "../../http/body/received-body.js";
import { Request } from "../../http/request.js";
import type { RequestSource } from "../../http/source.js";

/** Fields that concern one client at one moment; a response for everybody must not depend on them. */
const ofTheMoment = /^(?:if-.*|range|cache-control|pragma)$/i;

/** A copy of a request, for a response that is made after the client has got its own. */
export function detachedRequest(request: Request): Request {
  const { body } = request.source;
  const bytes = body === null ? null : Uint8Array.from(request.bytes());
  const copy = new Request(copiedSource(request.source, bytes));
  copy.bytesRead = bytes;
  copy.host = request.host;
  copy.pattern = request.pattern;
  copy.paramNames = request.paramNames;
  copy.paramValues = request.paramValues;
  copy.routeBodyLimit = request.routeBodyLimit;
  if (request.hasContext) Object.assign(copy.context, request.context);
  return copy;
}

function copiedSource(source: RequestSource, bytes: Uint8Array | null): RequestSource {
  const { method, path, search, remoteAddress, secure } = source;
  const received = source.headerLines();
  const lines = received.filter((_, index) => !ofTheMoment.test(received[index - (index % 2)]!));
  return {
    method,
    path,
    search,
    remoteAddress,
    secure,
    body: bytes === null ? null : receivedBody(bytes),
    wantsWebSocket: false,
    header(name) {
      const values = lines.filter((_, index) => index % 2 === 1 && lines[index - 1]!.toLowerCase() === name);
      return values.length === 0 ? undefined : values.join(name === "cookie" ? "; " : ", ");
    },
    headerLines: () => lines,
  };
}
