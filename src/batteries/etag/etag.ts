import { matchesWeakly } from "../../http/conditional.js";
import type { Request } from "../../http/request.js";
import { discardBody, type Response } from "../../http/response.js";
import { fieldOf } from "../../http/response-fields.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { entityTag } from "./entity-tag.js";

export interface EtagOptions {
  /** Bytes up to which a body is given a tag: making one of a larger body holds everybody else up. Default 10 MiB. */
  readonly maxSize?: number;
}

const checks: Checks<EtagOptions> = { maxSize: is.integer(0) };

/** Gives bodies a tag, and answers 304 to who has that body already. Streams have a tag only if the handler gives one. */
export function etag(options: unknown): Middleware {
  const { maxSize = 10_485_760 } = readOptions<EtagOptions>("enableEtag()", options, checks);
  return {
    name: "etag",
    slot: "etag",
    early: true,
    forRoute: (route) => (route.websocket || route.options["etag"] === false ? null : new RouteEtag(maxSize)),
  };
}

/** Up to this length a route's last body is remembered with its tag: comparing is ten times cheaper than hashing. */
const maxRemembered = 8 * 1024;

class RouteEtag implements Middleware {
  readonly #maxSize: number;
  #lastBody = "";
  #lastTag = "";

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  // The pipeline spreads a route's middleware, which takes along what is the object's own and no more.
  readonly after = (request: Request, response: Response): void => {
    const tag = fieldOf(response, "ETag") ?? this.#addTag(response);
    if (tag === undefined || response.status !== 200) return;
    if (request.method !== "GET" && request.method !== "HEAD") return;
    const known = request.source.header("if-none-match");
    if (known !== undefined && matchesWeakly(known, tag)) makeUnchanged(response);
  };

  #addTag(response: Response): string | undefined {
    const { body, status } = response;
    // The tag of a part would be that of the whole, which is not here.
    if (status === 206 || (typeof body !== "string" && !(body instanceof Uint8Array))) return undefined;
    if (body.length === 0 || body.length > this.#maxSize) return undefined;
    const tag = body === this.#lastBody ? this.#lastTag : this.#makeTag(body);
    response.addField("ETag", tag);
    return tag;
  }

  #makeTag(body: string | Uint8Array): string {
    const tag = entityTag(body);
    if (typeof body === "string" && body.length <= maxRemembered) {
      this.#lastBody = body;
      this.#lastTag = tag;
    }
    return tag;
  }
}

/** RFC 9110 section 15.4.5: a 304 describes no body. */
const ofTheBody = new Set([
  "accept-ranges",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-range",
  "transfer-encoding",
]);

function makeUnchanged(response: Response): void {
  const fields = response.fields ?? [];
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    if (!ofTheBody.has(fields[i]!.toLowerCase())) kept.push(fields[i]!, fields[i + 1]!);
  }
  discardBody(response);
  response.status = 304;
  response.body = null;
  response.type = null;
  response.fields = kept;
}
