import { receivedBody } from "../../http/body/received-body.js";
import { Request } from "../../http/request.js";
import type { IncomingBody, RequestSource } from "../../http/source.js";

/** Fields that concern one client at one moment; a response for everybody must not depend on them. */
const ofTheMoment = /^(?:if-.*|range|cache-control|pragma)$/i;

/** A copy of a request, for a response that is made after the client has got its own. */
export function detachedRequest(request: Request): Request {
  const { body } = request.source;
  const bytes = body === null ? null : Uint8Array.from(request.bytes());
  const copy = new Request(new CopiedSource(request.source, bytes));
  copy.bytesRead = bytes;
  copy.host = request.host;
  copy.pattern = request.pattern;
  copy.paramNames = request.paramNames;
  copy.paramValues = request.paramValues;
  copy.routeBodyLimit = request.routeBodyLimit;
  if (request.hasContext) Object.assign(copy.context, request.context);
  return copy;
}

class CopiedSource implements RequestSource {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly body: IncomingBody | null;
  readonly wantsWebSocket = false;
  readonly #lines: readonly string[];

  constructor(source: RequestSource, bytes: Uint8Array | null) {
    this.body = bytes === null ? null : receivedBody(bytes);
    this.method = source.method;
    this.path = source.path;
    this.search = source.search;
    this.remoteAddress = source.remoteAddress;
    this.secure = source.secure;
    const lines = source.headerLines();
    this.#lines = lines.filter((_, index) => !ofTheMoment.test(lines[index - (index % 2)]!));
  }

  header(name: string): string | undefined {
    const values: string[] = [];
    for (let i = 0; i < this.#lines.length; i += 2) {
      if (this.#lines[i]!.toLowerCase() === name) values.push(this.#lines[i + 1]!);
    }
    if (values.length === 0) return undefined;
    return values.join(name === "cookie" ? "; " : ", ");
  }

  headerLines(): readonly string[] {
    return this.#lines;
  }
}
