import { httpError } from "../errors/http-error.js";
import { reportBrokenBody } from "./aborted.js";
import { discardBody, stopIterator } from "./discard.js";
import { FileBody } from "./files/file-body.js";
import { Request } from "./request.js";
import { type BodyStream, checkPiece, type Response } from "./response.js";
import type { IncomingBody, RequestSource } from "./source.js";
import { isBodiless } from "./status.js";

/** A standard web `Request` as a source, so that an application runs on any server with the fetch interface. */
export class WebSource implements RequestSource {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly remoteAddress = "";
  readonly secure: boolean;
  readonly body: IncomingBody | null;
  readonly wantsWebSocket = false;
  readonly #request: globalThis.Request;
  readonly #host: string;

  constructor(request: globalThis.Request) {
    const url = new URL(request.url);
    this.#request = request;
    this.#host = url.host;
    this.method = request.method.toUpperCase();
    this.path = url.pathname;
    this.search = url.search;
    this.secure = url.protocol === "https:";
    this.body = request.body ? new WebBody(request) : null;
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? (name === "host" ? this.#host : undefined);
  }

  headerLines(): readonly string[] {
    const lines = [...this.#request.headers].flat();
    if (!this.#request.headers.has("host")) lines.unshift("host", this.#host);
    return lines;
  }
}

class WebBody implements IncomingBody {
  readonly length: number | undefined;
  readonly received = null;
  readonly #request: globalThis.Request;

  constructor(request: globalThis.Request) {
    this.#request = request;
    const declared = request.headers.get("content-length");
    this.length = declared !== null && /^\d+$/.test(declared) ? Number(declared) : undefined;
  }

  async read(limit: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.stream(limit)) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  async *stream(limit: number): AsyncIterableIterator<Uint8Array> {
    if (this.length !== undefined && this.length > limit) throw httpError("PAYLOAD_TOO_LARGE");
    let size = 0;
    for await (const piece of this.#request.body as unknown as AsyncIterable<Uint8Array>) {
      size += piece.length;
      if (size > limit) throw httpError("PAYLOAD_TOO_LARGE");
      yield piece;
    }
  }
}

/** Handles a standard web `Request`. */
export async function answerWeb(
  web: globalThis.Request,
  dispatch: (request: Request) => Response | Promise<Response>,
): Promise<globalThis.Response> {
  const request = new Request(new WebSource(web));
  if (web.signal.aborted) request.abort(web.signal.reason);
  else web.signal.addEventListener("abort", () => request.abort(web.signal.reason), { once: true });
  return toWebResponse(request, await dispatch(request));
}

/** The response as a standard web `Response`. The request finishes when the body has been read. */
function toWebResponse(request: Request, response: Response): globalThis.Response {
  const headers = new Headers();
  for (const [name, value] of response.headers) headers.append(name, value);
  const init = { status: response.status, headers };
  const body = response.body;
  if (body instanceof FileBody) throw new Error("a file must be resolved before it is sent");
  if (body === null || request.method === "HEAD" || isBodiless(response.status)) {
    discardBody(response);
    request.finish();
    return new globalThis.Response(null, init);
  }
  if (typeof body === "string" || body instanceof Uint8Array) {
    request.finish();
    return new globalThis.Response(body as Uint8Array<ArrayBuffer>, init);
  }
  return new globalThis.Response(webStream(request, body), init);
}

function webStream(request: Request, body: BodyStream): ReadableStream<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let cancelled = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (cancelled) return;
        if (done) {
          controller.close();
          request.finish();
          return;
        }
        checkPiece(value);
        controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      } catch (error) {
        reportBrokenBody(request, error, () => {});
        stopIterator(iterator);
        controller.error(error);
        request.finish();
      }
    },
    async cancel(reason) {
      cancelled = true;
      request.abort(reason ?? new Error("the client left"));
      await iterator.return?.();
      request.finish();
    },
  });
}
