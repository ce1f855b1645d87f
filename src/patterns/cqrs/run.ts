import { setTimeout as delay } from "node:timers/promises";
import { DatabaseError } from "../../engines/db/errors.js";
import { asPromise, isPromise } from "../../kit/is-promise.js";
import { backoff } from "../../kit/time/backoff.js";
import { type Deadlines, Expiry } from "../../kit/time/deadlines.js";
import { ConcurrencyError } from "../events/errors.js";
import type { BusContext, BusMiddleware } from "./bus-options.js";
import { CommandTimeout, type MessageContext, type MessageHandler } from "./message.js";

/** Failures of two writers at once: the same again succeeds. */
const transient: ReadonlySet<string | null> = new Set(["40001", "40P01"]);

/** The part of a run that is the same for every run of a message. */
export interface RunSettings {
  readonly kind: "command" | "query";
  readonly name: string;
  readonly handler: MessageHandler;
  readonly deadlines: Deadlines;
  readonly retries: number;
  readonly middleware: readonly BusMiddleware[];
}

/**
 * One run of a handler: within its time, and again after a conflict. A late result is discarded. The signal is made when it
 * is first read, as most handlers do not read it.
 */
export class Run<Result> implements MessageContext, BusContext {
  readonly kind: "command" | "query";
  readonly name: string;
  attempt = 1;
  readonly #settings: RunSettings;
  readonly #caller: AbortSignal | undefined;
  /** Makes the result of the bus from the value of the handler. */
  readonly #finish: (value: unknown) => Result;
  #controller: AbortController | null = null;
  #over = false;
  #deadline: Expiry | null = null;
  #resolve: ((result: Result) => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;
  #onAbort: (() => void) | null = null;

  constructor(
    settings: RunSettings,
    readonly input: unknown,
    caller: AbortSignal | undefined,
    finish: (value: unknown) => Result,
  ) {
    this.#settings = settings;
    this.kind = settings.kind;
    this.name = settings.name;
    this.#caller = caller;
    this.#finish = finish;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#over) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Runs the handler. One promise beside that of the handler, and none for a handler that returns none. */
  start(): Promise<Result> {
    const { handler, middleware } = this.#settings;
    if (this.#caller?.aborted) return Promise.reject(this.#caller.reason);
    let first: unknown;
    try {
      first = middleware.length === 0 ? handler(this.input as never, this) : this.#next(0);
    } catch (error) {
      if (!this.#mayRepeat(error)) return Promise.reject(error);
      first = Promise.reject(error);
    }
    if (!isPromise(first)) return Promise.resolve(this.#finish(first));
    return new Promise<Result>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      const { deadlines } = this.#settings;
      this.#deadline = new Expiry(() => this.#end(new CommandTimeout(this.name, deadlines.milliseconds)));
      deadlines.add(this.#deadline);
      if (this.#caller !== undefined) {
        this.#onAbort = () => this.#end(this.#caller!.reason);
        this.#caller.addEventListener("abort", this.#onAbort);
      }
      this.#follow(asPromise(first as Promise<unknown>));
    });
  }

  #follow(attempt: Promise<unknown>): void {
    attempt.then(
      (value) => {
        this.#leave();
        // Also after the end: `finish` may keep a late result.
        this.#resolve!(this.#finish(value));
      },
      (error: unknown) => {
        // With middleware the handler is repeated inside of it.
        if (this.#settings.middleware.length === 0 && this.#mayRepeat(error)) {
          this.#follow(this.#again(error));
          return;
        }
        this.#leave();
        this.#reject!(error);
      },
    );
  }

  #leave(): void {
    this.#settings.deadlines.remove(this.#deadline!);
    if (this.#onAbort !== null) this.#caller!.removeEventListener("abort", this.#onAbort);
  }

  #end(error: unknown): void {
    this.#over = true;
    this.#leave();
    this.#controller?.abort();
    this.#reject!(error);
  }

  #mayRepeat(error: unknown): boolean {
    return this.attempt <= this.#settings.retries && !this.#over && isTransient(error);
  }

  /** The middleware of this place, around those after it and the handler. */
  async #next(place: number): Promise<unknown> {
    const { handler, middleware } = this.#settings;
    const one = middleware[place];
    if (one !== undefined) return one(this, () => this.#next(place + 1));
    try {
      return await handler(this.input as never, this);
    } catch (error) {
      return this.#again(error);
    }
  }

  /** Runs the handler again after a conflict with another writer. */
  async #again(failure: unknown): Promise<unknown> {
    const { handler } = this.#settings;
    for (let error = failure; ; ) {
      if (!this.#mayRepeat(error)) throw error;
      await delay(backoff(this.attempt, 5, 100));
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
