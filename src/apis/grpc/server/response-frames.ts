import { isPromise } from "../../../kit/is-promise.js";
import { insideCall } from "../current-call.js";
import type { Exchange } from "./exchange.js";

type Piece = IteratorResult<Uint8Array>;
interface Wake {
  readonly resolve: (piece: Piece) => void;
  readonly reject: (error: unknown) => void;
}
type Source = AsyncIterator<unknown> | Iterator<unknown>;

const end: Piece = { done: true, value: undefined };
/** An empty piece makes the transport send the headers. */
const headersOnly: Piece = { done: false, value: new Uint8Array(0) };

/**
 * The frames of a response that is a stream. A message is requested from the handler when the client can take it. When the
 * call is aborted, the iteration ends with the error, and so does the handler's.
 */
export class ResponseFrames implements AsyncIterableIterator<Uint8Array> {
  readonly #exchange: Exchange;
  readonly #start: () => Promise<unknown>;
  #source: Source | null = null;
  #done = false;
  /** The frame that the handler makes now; it is kept if the headers went first. */
  #frame: Promise<Piece> | null = null;
  #headersDue = false;
  #wake: Wake | null = null;

  constructor(exchange: Exchange, start: () => Promise<unknown>) {
    this.#exchange = exchange;
    this.#start = start;
    exchange.onAbort = (error) => {
      if (this.#done) return;
      this.#holdRequest();
      this.#finish();
      this.#wake?.reject(error);
    };
    exchange.call.onSendHeaders(() => {
      if (this.#wake !== null) this.#wake.resolve(headersOnly);
      else this.#headersDue = true;
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Piece> {
    if (this.#done) return Promise.resolve(end);
    if (this.#headersDue) {
      this.#headersDue = false;
      return Promise.resolve(headersOnly);
    }
    return new Promise((resolve, reject) => {
      const wake: Wake = {
        resolve: (piece) => {
          if (this.#wake === wake) this.#wake = null;
          resolve(piece);
        },
        reject: (error) => {
          if (this.#wake === wake) this.#wake = null;
          reject(error);
        },
      };
      this.#wake = wake;
      const frame = (this.#frame ??= insideCall(this.#exchange.call, () => this.#make()));
      frame.then(
        (piece) => {
          if (this.#wake !== wake) return;
          this.#frame = null;
          if (piece.done) this.#end();
          wake.resolve(piece);
        },
        (error: unknown) => {
          if (this.#wake !== wake) return;
          this.#end();
          wake.reject(error);
        },
      );
    });
  }

  async return(): Promise<Piece> {
    this.#finish();
    return end;
  }

  async #make(): Promise<Piece> {
    if (this.#source === null) {
      this.#source = iteratorOf(await this.#start(), this.#exchange.method.path);
      if (this.#done) {
        this.#stopSource();
        return end;
      }
    }
    const next = this.#source.next();
    const { done, value } = isPromise(next) ? await (next as Promise<IteratorResult<unknown>>) : next;
    if (done) return end;
    const frame = this.#exchange.encode(value);
    return { done: false, value: frame instanceof Promise ? await frame : frame };
  }

  #end(): void {
    this.#done = true;
    this.#exchange.settled();
  }

  /** The handler may still run: scoped values are disposed after it. */
  #holdRequest(): void {
    if (this.#frame === null) return;
    const { request } = this.#exchange;
    request.hold();
    const finish = (): void => request.finish();
    this.#frame.then(finish, finish);
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#exchange.incoming.discard();
    this.#stopSource();
    const settled = (): void => this.#exchange.settled();
    if (this.#frame === null) settled();
    else this.#frame.then(settled, settled);
  }

  #stopSource(): void {
    try {
      const ended = this.#source?.return?.();
      if (isPromise(ended)) void Promise.resolve(ended).catch(() => {});
    } catch {
      // No code waits for it any more.
    }
  }
}

function iteratorOf(made: unknown, path: string): Source {
  if (typeof made === "object" && made !== null) {
    if (Symbol.asyncIterator in made) return (made as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    if (Symbol.iterator in made) return (made as Iterable<unknown>)[Symbol.iterator]();
  }
  throw new TypeError(`the handler of ${path} sends a stream: it must return an iterable, such as an async generator`);
}
