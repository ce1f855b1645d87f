import { setTimeout as delay } from "node:timers/promises";
import { DatabaseError } from "../../engines/db/errors.js";
import { asPromise, isPromise } from "../../internal/is-promise.js";
import { ConcurrencyError } from "../events/errors.js";
import type { BusContext, BusMiddleware } from "./bus-options.js";
import { Deadlines, type Expiring } from "./deadlines.js";
import { CommandTimeout, type MessageContext, type MessageHandler } from "./message.js";

/** Failures of two writers at once: the same again succeeds. */
const transient: ReadonlySet<string | null> = new Set(["40001", "40P01"]);
const deadlines = new Deadlines();

export interface RunSettings {
  readonly kind: "command" | "query";
  readonly name: string;
  readonly handler: MessageHandler;
  readonly timeout: number;
  readonly retries: number;
  readonly middleware: readonly BusMiddleware[];
  readonly signal: AbortSignal | undefined;
}

/** One run of a handler: within its time, and again after a conflict. A late result is discarded. */
export class Run implements MessageContext, BusContext, Expiring {
  readonly kind: "command" | "query";
  readonly name: string;
  attempt = 1;
  readonly #settings: RunSettings;
  /** Made when the handler asks for it: most do not. */
  #controller: AbortController | null = null;
  #over = false;
  #reject!: (error: unknown) => void;
  #unfollow: (() => void) | null = null;
  endsAt = 0;

  constructor(
    settings: RunSettings,
    readonly input: unknown,
  ) {
    this.#settings = settings;
    this.kind = settings.kind;
    this.name = settings.name;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#over) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Runs the handler; `finish` makes the result of the bus from its value. One promise beside that of the handler. */
  start<Result>(finish: (value: unknown) => Result): Promise<Result> {
    const { handler, middleware, signal, timeout } = this.#settings;
    if (signal?.aborted) return Promise.reject(signal.reason);
    let first: unknown;
    try {
      first = middleware.length === 0 ? handler(this.input as never, this) : this.#around();
    } catch (error) {
      first = Promise.reject(error);
    }
    if (!isPromise(first)) return Promise.resolve(finish(first));
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const waiting = deadlines.add(this, timeout);
      if (signal !== undefined) this.#follow(signal);
      const done = (value: unknown): void => {
        waiting.delete(this);
        this.#unfollow?.();
        resolve(finish(value));
      };
      const failed = (error: unknown): void => {
        // With middleware the handler is repeated inside of it.
        if (middleware.length === 0 && this.#mayRepeat(error)) {
          this.#again(error).then(done, failed);
          return;
        }
        waiting.delete(this);
        this.#unfollow?.();
        reject(error);
      };
      asPromise(first as PromiseLike<unknown>).then(done, failed);
    });
  }

  #follow(signal: AbortSignal): void {
    const onAbort = (): void => this.#end(signal.reason);
    signal.addEventListener("abort", onAbort);
    this.#unfollow = () => signal.removeEventListener("abort", onAbort);
  }

  #mayRepeat(error: unknown): boolean {
    return this.attempt <= this.#settings.retries && !this.#over && isTransient(error);
  }

  expire(): void {
    this.#end(new CommandTimeout(this.name, this.#settings.timeout));
  }

  #end(error: unknown): void {
    this.#over = true;
    this.#controller?.abort();
    this.#reject(error);
  }

  /** The handler inside of the middleware, the first one outermost. */
  #around(): Promise<unknown> {
    const { handler, middleware } = this.#settings;
    const handle = async (): Promise<unknown> => {
      try {
        return await handler(this.input as never, this);
      } catch (error) {
        return this.#again(error);
      }
    };
    return middleware.reduceRight<() => Promise<unknown>>((next, one) => async () => one(this, next), handle)();
  }

  /** Runs the handler again after a conflict with another writer. */
  async #again(failure: unknown): Promise<unknown> {
    const { handler } = this.#settings;
    for (let error = failure; ; ) {
      if (!this.#mayRepeat(error)) throw error;
      await delay(Math.random() * Math.min(5 * 2 ** this.attempt, 100));
      if (this.#over) throw error;
      this.attempt++;
      try {
        return await handler(this.input as never, this);
      } catch (next) {
        error = next;
      }
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof ConcurrencyError || (error instanceof DatabaseError && transient.has(error.sqlstate));
}
