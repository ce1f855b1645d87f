import { discardBody } from "../../http/discard.js";
import { matchesWeakly } from "../../http/fields/conditional.js";
import { parseHttpDate } from "../../http/fields/http-date.js";
import { fieldOf } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { is } from "../../kit/options.js";
import type { Middleware } from "../../pipeline/middleware.js";

export const etagOptions = options("enableEtag()", {
  /** Largest body in bytes that gets a tag. Default: no limit. A tag of 100 MB takes about 0.1 s of the event loop. */
  maxSize: option(is.integer(0), Number.POSITIVE_INFINITY, "no limit"),
});

export interface EtagOptions extends OptionsOf<typeof etagOptions.fields> {}

/**
 * Adds an ETag to bodies, and responds with 304 if the client already has the body, by its tag or by its Last-Modified.
 * Streams have a tag only if the handler sets one.
 */
export function etag(args: readonly unknown[]): Middleware {
  const { maxSize } = etagOptions.read(args);
  return {
    name: "etag",
    slot: "etag",
    early: true,
    forRoute: (route) => (route.websocket || route.options["etag"] === false ? null : new RouteEtag(maxSize)),
  };
}

/** Largest body that is cached per route with its tag: a comparison is ten times cheaper than a hash. */
const maxRemembered = 8 * 1024;

class RouteEtag implements Middleware {
  #lastBody = "";
  #lastTag = "";

  constructor(private readonly maxSize: number) {}

  // The pipeline spreads a route's middleware, which copies own properties only.
  readonly after = (request: Request, response: Response): void => {
    const tag = fieldOf(response, "ETag") ?? this.#addTag(response);
    if (response.status !== 200 || (request.method !== "GET" && request.method !== "HEAD")) return;
    const { source } = request;
    const known = source.header("if-none-match");
    // RFC 9110 section 13.2.2: the tag counts, and the date only without one in the request.
    const unchanged =
      known === undefined
        ? isUnmodified(source.header("if-modified-since"), response)
        : tag !== undefined && matchesWeakly(known, tag);
    if (unchanged) makeUnchanged(response);
  };

  #addTag(response: Response): string | undefined {
    const { body, status } = response;
    // The tag of a part would be that of the whole, which is not here.
    if (status === 206 || (typeof body !== "string" && !(body instanceof Uint8Array))) return undefined;
    if (body.length === 0 || body.length > this.maxSize) return undefined;
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

function isUnmodified(since: string | undefined, response: Response): boolean {
  const modified = since === undefined ? undefined : fieldOf(response, "Last-Modified");
  if (since === undefined || modified === undefined) return false;
  const [held, current] = [parseHttpDate(since), parseHttpDate(modified)];
  return held !== undefined && current !== undefined && current <= held;
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

/**
 * A weak tag made of a body's bytes. SHA-1 by node:crypto: measured, for 30 characters it costs as much as a hash
 * written in JavaScript, and from 500 characters on a third of it. Two bodies with the same tag do not happen.
 */
function entityTag(body: string | Uint8Array): string {
  // The last of the 28 characters is always "=".
  return `W/"${digest(body).slice(0, 27)}"`;
}

// `crypto.hash` came with Node 20.12; it is twice as fast on small input.
function digest(body: string | Uint8Array): string {
  const crypto = nodeCrypto();
  return typeof crypto.hash === "function"
    ? crypto.hash("sha1", body, "base64")
    : crypto.createHash("sha1").update(body).digest("base64");
}
