import { Request } from "../../http/request.js";
import type { RequestSource } from "../../http/source.js";

/** What only the client of a moment asked for; an answer for everybody must not depend on it. */
const ofTheMoment = /^(?:if-.*|range|cache-control|pragma)$/i;

/** A request as the same route would see it, for an answer that is made when its client has been answered already. */
export function detachedRequest(request: Request): Request {
  const copy = new Request(new CopiedSource(request.source));
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
  readonly body = null;
  readonly wantsWebSocket = false;
  readonly #lines: readonly string[];

  constructor(source: RequestSource) {
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
