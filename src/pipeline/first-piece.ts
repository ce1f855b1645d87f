import { AuthorityEndedError } from "../http/authority.js";
import { discardStream, endNodeStream, stopIterator } from "../http/discard.js";
import type { PassingStream, SendBytes } from "../http/files/file-stream.js";
import type { Request } from "../http/request.js";
import { type BodyStream, checkPiece, type Response } from "../http/response.js";
import { SseStream } from "../http/sse.js";

type Piece = IteratorResult<Uint8Array | string>;

/** Milliseconds that the head of a response waits for the first piece of its body. */
const patience = 2000;

/**
 * Waits for the first piece of a streamed body, so that a stream that fails before it becomes an error response. The
 * head does not wait for long: a stream that has nothing to send yet begins without a piece, and event streams do so as
 * soon as the event loop comes around. Rejects with the error of the stream.
 */
export function awaitFirstPiece(request: Request, response: Response): Response | Promise<Response> {
  const { body } = response;
  if (typeof body !== "object" || body === null || !(Symbol.asyncIterator in body)) return response;
  if (body instanceof BegunStream) return response;
  // The body of a response to HEAD is never read.
  if (request.method === "HEAD") {
    request.onFinish(() => discardStream(body));
    return response;
  }
  const stream = new BegunStream(body);
  const isEvents = body instanceof SseStream || response.type === "text/event-stream";
  if (isEvents) {
    request.onAbort((reason) => {
      if (reason instanceof AuthorityEndedError) stream.end();
      else if (body instanceof SseStream) body.probe();
    });
    request.endWithAuthority();
  }
  response.body = stream;
  // A middleware may have put another response in its place.
  request.onFinish(() => stream.endUnread());
  return stream.begin(isEvents).then(() => response);
}

/** A stream whose first piece has been requested. */
class BegunStream implements AsyncIterableIterator<Uint8Array | string>, PassingStream {
  readonly #body: BodyStream;
  readonly #iterator: AsyncIterator<Uint8Array | string>;
  #first: Promise<Piece> | null;
  /** A reader has the stream, and ends it. */
  #taken = false;
  #isEnded = false;

  constructor(body: BodyStream) {
    this.#body = body;
    this.#iterator = body[Symbol.asyncIterator]();
    // A foreign iterator may return a promise that is not native, or no promise at all.
    this.#first = Promise.resolve(this.#iterator.next());
  }

  /** Settles with the first piece, or when the head should not wait for it any longer. */
  begin(atOnce: boolean): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      const timer = atOnce ? null : setTimeout(resolve, patience);
      if (timer === null) setImmediate(resolve, undefined);
      const settled = (): void => {
        if (timer !== null) clearTimeout(timer);
      };
      this.#first!.then((piece) => {
        if (!piece.done) checkPiece(piece.value);
        settled();
        resolve(piece);
      }).catch((error: unknown) => {
        settled();
        stopIterator(this);
        reject(error);
      });
    });
  }

  [Symbol.asyncIterator](): this {
    this.#taken = true;
    return this;
  }

  /** Ends a stream that was begun and is not read. */
  endUnread(): void {
    if (!this.#taken) stopIterator(this);
  }

  /** Ends the stream: its source is asked for nothing more. */
  end(): void {
    this.#isEnded = true;
    stopIterator(this);
  }

  next(): Promise<Piece> {
    const first = this.#first;
    if (this.#isEnded) return Promise.resolve({ done: true, value: undefined });
    if (first === null) return this.#iterator.next();
    this.#first = null;
    return first;
  }

  passOn(send: SendBytes): number {
    if (this.#first !== null || this.#isEnded) return 0;
    return (this.#iterator as Partial<PassingStream>).passOn?.(send) ?? 0;
  }

  return(): Promise<Piece> {
    endNodeStream(this.#body);
    const ended = this.#iterator.return?.();
    return Promise.resolve(ended ?? { done: true, value: undefined });
  }
}
