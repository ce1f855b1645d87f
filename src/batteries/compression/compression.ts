import { type ContentCoding, codingNegotiator } from "../../http/fields/accept-encoding.js";
import { addVary, fieldOf, isSameName } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { BodyStream, Response } from "../../http/response.js";
import { isBodiless } from "../../http/status.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { isCompressible } from "./compressible.js";
import { encodeBody, encodeStream, type Levels } from "./encode.js";
import type { CompressionSettings } from "./options.js";
import { holdsSecret } from "./secrets.js";

/** Compresses bodies for clients that accept it. */
export function compression(options: CompressionSettings): Middleware {
  const { minSize, brotli, level, brotliQuality, withCookies, streams } = options;
  const levels: Levels = { gzip: level, brotli: brotliQuality };
  const negotiate = codingNegotiator(brotli ? ["br", "gzip"] : ["gzip"]);

  const after = (request: Request, response: Response): Promise<void> | undefined => {
    const { body, status } = response;
    if (status === 304) return adaptUnchanged(request, response);
    const size = sizeOf(request, response, minSize);
    if (size < minSize || isBodiless(status)) return undefined;
    if (size === Infinity && !streams) return undefined;
    if (!isCompressible(response.type) || forbids(response, withCookies)) return undefined;
    if (holdsSecret(request)) return undefined;
    addVary(response, "Accept-Encoding");
    // A part has the fields that the whole would have had (RFC 9110 section 15.3.7), but is sent as it is.
    if (status === 206) return undefined;
    const coding = negotiate(request.source.header("accept-encoding"))[0];
    if (coding === undefined) return undefined;
    if (typeof body === "string" || body instanceof Uint8Array) {
      const encoded = encodeBody(body, size, coding, levels);
      const finish = (bytes: Buffer): undefined => {
        if (bytes.length < size) recode(response, coding, bytes);
      };
      return encoded instanceof Promise ? encoded.then(finish) : finish(encoded);
    }
    const live = size === Infinity;
    recode(response, coding, body === null ? nothing() : encodeStream(body as BodyStream, coding, levels, live));
    return undefined;
  };

  /** A 304 has the fields that a 200 would have had, and a compressed 200 would have had a weak tag. */
  const adaptUnchanged = (request: Request, response: Response): undefined => {
    addVary(response, "Accept-Encoding");
    if (negotiate(request.source.header("accept-encoding")).length > 0) weakenTag(response.fields!);
  };

  return {
    name: "compression",
    slot: "compression",
    early: true,
    forRoute: (route) => (route.websocket || route.options["compression"] === false ? null : { after }),
  };
}

/**
 * Bytes of the body, or of the whole that it is a part of; infinite for a stream of unknown length, and -1 if the body is
 * clearly below `minSize`.
 */
function sizeOf(request: Request, response: Response, minSize: number): number {
  if (response.status === 206) return wholeSize(response);
  const body = response.body;
  if (typeof body === "string") {
    // A character is at most three bytes of UTF-8, so the short ones need no counting.
    return body.length * 3 < minSize ? -1 : Buffer.byteLength(body);
  }
  if (body instanceof Uint8Array) return body.length;
  // A file's HEAD has the length of the body that its GET has.
  if (body === null && request.method !== "HEAD") return -1;
  const length = fieldOf(response, "Content-Length");
  return length !== undefined ? Number(length) : body === null ? -1 : Infinity;
}

/** Bytes of the whole that a part is taken from. If Content-Range does not say it, it is taken for large. */
function wholeSize(response: Response): number {
  const size = /\/(\d+)$/.exec(fieldOf(response, "Content-Range") ?? "")?.[1];
  return size === undefined ? Number.MAX_SAFE_INTEGER : Number(size);
}

/** True if a field forbids to change the body. */
function forbids({ fields, status }: Response, withCookies: boolean): boolean {
  if (fields === null) return false;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    switch (name.length) {
      case 10:
        if (!withCookies && isSameName(name, "Set-Cookie")) return true;
        break;
      case 13:
        if (isSameName(name, "Cache-Control") && /(?:^|[\s,])no-transform(?:$|[\s,])/i.test(fields[i + 1]!))
          return true;
        if (status !== 206 && isSameName(name, "Content-Range")) return true;
        break;
      case 16:
        if (isSameName(name, "Content-Encoding")) return true;
    }
  }
  return false;
}

function recode(response: Response, coding: ContentCoding, body: Uint8Array | BodyStream): void {
  const fields: string[] = [];
  const given = response.fields ?? [];
  for (let i = 0; i < given.length; i += 2) {
    const name = given[i]!;
    // Ranges are of the plain body; a client that knows the compressed one could not use them.
    if (!isSameName(name, "Content-Length") && !isSameName(name, "Accept-Ranges")) fields.push(name, given[i + 1]!);
  }
  weakenTag(fields);
  fields.push("Content-Encoding", coding);
  response.fields = fields;
  response.body = body;
}

/**
 * A strong tag identifies the exact bytes (RFC 9110 section 8.8.1), so the compressed form cannot have the tag of the
 * plain one.
 */
function weakenTag(fields: string[]): void {
  for (let i = 0; i < fields.length; i += 2) {
    if (isSameName(fields[i]!, "ETag") && fields[i + 1]!.startsWith('"')) fields[i + 1] = `W/${fields[i + 1]}`;
  }
}

/** A body of unknown length that is never read: the response to HEAD then has no Content-Length, which would be wrong. */
async function* nothing(): AsyncGenerator<Uint8Array> {}
