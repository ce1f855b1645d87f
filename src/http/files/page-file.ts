import { promisify } from "node:util";
import { httpError } from "../../errors/http-error.js";
import { nodeCrypto, nodeZlib } from "../../kit/node-modules.js";
import { publishedFile } from "../../kit/pages/page-files.js";
import { codingNegotiator } from "../fields/accept-encoding.js";
import { evaluateConditions } from "../fields/conditional.js";
import { mediaType } from "../fields/media-types.js";
import type { Request } from "../request.js";
import { Response } from "../response.js";

const negotiate = codingNegotiator(["br"]);

/**
 * Sends a file of the package that is published in Brotli: as it is, or decompressed for a client that does not accept
 * Brotli. The plain form is not kept: few clients ask for it, and they revalidate what they have.
 */
export async function sendPageFile(request: Request, path: string): Promise<Response> {
  const bytes = await publishedFile(path);
  let tag = tags.get(bytes);
  if (tag === undefined) tags.set(bytes, (tag = tagOf(bytes)));
  const isBrotli = negotiate(request.source.header("accept-encoding")).length > 0;
  // The two forms are different bytes, so they have different tags (RFC 9110 section 8.8.3.3).
  const response = await sendTagged(request, isBrotli ? `"${tag}-br"` : `"${tag}"`, async () => {
    if (!isBrotli) return new Response(await promisify(nodeZlib().brotliDecompress)(bytes), 200, mediaType(path));
    const whole = new Response(bytes, 200, mediaType(path));
    whole.addField("Content-Encoding", "br");
    return whole;
  });
  response.addField("Vary", "Accept-Encoding");
  return response;
}

/** The tags of the files that have been sent. */
const tags = new WeakMap<Uint8Array, string>();

/** The hash of a body, for its ETag. */
export function tagOf(body: string | Uint8Array): string {
  return nodeCrypto().createHash("sha256").update(body).digest("base64url").slice(0, 22);
}

/**
 * Sends what has this ETag; `whole` is not called for a client that has it. The client caches it and revalidates it each
 * time: it may change with the next start of the server.
 */
export async function sendTagged(
  request: Request,
  etag: string,
  whole: () => Response | Promise<Response>,
): Promise<Response> {
  const verdict = evaluateConditions(request.method, (name) => request.source.header(name), {
    etag,
    lastModified: undefined,
  });
  if (verdict === "failed") throw httpError("PRECONDITION_FAILED");
  const response = verdict === "unchanged" ? new Response(null, 304) : await whole();
  response.addField("ETag", etag);
  response.addField("Cache-Control", "no-cache");
  response.addField("X-Content-Type-Options", "nosniff");
  return response;
}
