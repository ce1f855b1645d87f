import type { Response } from "../../../http/response.js";
import { isPromise } from "../../../kit/is-promise.js";
import { clientStreams, serverStreams } from "../bound-method.js";
import { insideCall } from "../current-call.js";
import type { Frame } from "../wire/frames.js";
import type { Exchange } from "./exchange.js";
import { ResponseFrames } from "./response-frames.js";

type Injected = Record<string, unknown>;

/** The innermost part of the pipeline of a call: reads messages, runs the handler, gives the response. */
export function answerCall(exchange: Exchange, injected: Injected): Promise<Response> | Response {
  const { method, call, incoming } = exchange;
  exchange.running = true;
  if (serverStreams(method) || clientStreams(method)) exchange.request.endWithAuthority();
  if (serverStreams(method)) {
    return exchange.reply(
      new ResponseFrames(exchange, async () =>
        method.handler(clientStreams(method) ? new MessageIterator(exchange) : await exchange.single(), call, injected),
      ),
    );
  }
  return new Promise((resolve, reject) => {
    const run = new SingleRun(exchange, injected, resolve, reject);
    if (clientStreams(method)) run.handle(new MessageIterator(exchange));
    else if (incoming.whole) incoming.whole((frames, error) => run.take(frames, error));
    else
      exchange.single().then(
        (message) => run.handle(message),
        (error: unknown) => run.fail(error),
      );
  });
}

/**
 * A call with one message in response. Its steps are callbacks: each promise in between would cost as much as the pipeline.
 * It rejects as soon as the call is aborted. The handler may still run: scoped values are disposed after it.
 */
class SingleRun {
  #held = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly injected: Injected,
    private readonly resolve: (response: Response) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    exchange.onAbort = (error) => {
      this.#held = true;
      exchange.request.hold();
      reject(error);
    };
  }

  take(frames: readonly Frame[], error: unknown): void {
    if (error !== null) {
      this.fail(error);
      return;
    }
    try {
      const message = this.exchange.decode(this.exchange.only(frames));
      if (isPromise(message)) {
        (message as Promise<unknown>).then(
          (decoded) => this.handle(decoded),
          (reason: unknown) => this.fail(reason),
        );
      } else this.handle(message);
    } catch (reason) {
      this.fail(reason);
    }
  }

  handle(message: unknown): void {
    const { method, call } = this.exchange;
    try {
      const result = insideCall(call, () => method.handler(message, call, this.injected));
      if (isPromise(result)) {
        Promise.resolve(result).then(
          (value) => this.#send(value),
          (reason: unknown) => this.fail(reason),
        );
      } else this.#send(result);
    } catch (reason) {
      this.fail(reason);
    }
  }

  fail(error: unknown): void {
    this.#settled();
    this.reject(error);
  }

  #send(message: unknown): void {
    try {
      const frame = this.exchange.encode(message);
      if (frame instanceof Promise)
        frame.then(
          (made) => this.#reply(made),
          (reason: unknown) => this.fail(reason),
        );
      else this.#reply(frame);
    } catch (reason) {
      this.fail(reason);
    }
  }

  #reply(frame: Buffer): void {
    this.#settled();
    this.resolve(this.exchange.reply(frame));
  }

  #settled(): void {
    const exchange = this.exchange;
    exchange.onAbort = null;
    exchange.settled();
    if (this.#held) exchange.request.finish();
  }
}

/** The messages of a client that sends a stream, as the handler iterates them. */
class MessageIterator implements AsyncIterableIterator<unknown> {
  #done = false;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly exchange: Exchange) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Several calls at once are served one after the other. */
  next(): Promise<IteratorResult<unknown>> {
    const turn = this.#waiting === 0 ? this.#take() : this.#last.then(() => this.#take());
    this.#waiting++;
    const settled = (): void => {
      this.#waiting--;
    };
    this.#last = turn.then(settled, settled);
    return turn;
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#done = true;
    this.exchange.incoming.discard();
    return { done: true, value: undefined };
  }

  async #take(): Promise<IteratorResult<unknown>> {
    if (this.#done) return { done: true, value: undefined };
    const frame = await this.exchange.incoming.next();
    // The end of a stream of Connect is a separate frame.
    if (frame === null || (frame.flags & 2) !== 0) {
      this.#done = true;
      return { done: true, value: undefined };
    }
    return { done: false, value: await this.exchange.decode(frame) };
  }
}
