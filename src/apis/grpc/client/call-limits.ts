import { seconds } from "../../../kit/time/duration.js";
import { longestDelay } from "../../../kit/time/within.js";
import type { GrpcCall } from "../grpc-call.js";
import { GrpcError } from "../grpc-error.js";
import { GrpcStatus } from "../status.js";
import type { CallOptions } from "./client-types.js";

export interface LimitedCall {
  readonly options: CallOptions;
  /** The time of `performance.now()` from which the timeout counts. */
  readonly started: number;
  /** The call whose handler makes this one. */
  readonly parent: GrpcCall | null;
  /** Aborted when the channel is closed. */
  readonly closed: AbortSignal;
}

/** The deadline and the signal of a call. */
export class CallLimits {
  readonly #deadline: number | null;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #signals: readonly AbortSignal[];
  readonly #closed: AbortSignal;
  readonly #listeners = new Set<(error: GrpcError) => void>();
  readonly #onAbort = (): void => this.#fail(abortFailure(this.#signals.find(({ aborted }) => aborted)?.reason));
  #failure: GrpcError | null = null;

  /** In seconds: `usual` without a timeout of the call, and never more than `most`. */
  constructor({ options, started, parent: serving, closed }: LimitedCall, usual: number, most: number) {
    const { timeout, signal, inherit = true } = options;
    const parent = inherit ? serving : null;
    this.#closed = closed;
    const limit = seconds(timeout ?? usual) * 1000;
    const end = Math.min(
      started + most * 1000,
      limit > 0 ? started + limit : Infinity,
      parent?.deadline ? performance.now() + parent.deadline.getTime() - Date.now() : Infinity,
    );
    this.#deadline = end === Infinity ? null : end;
    this.#signals = [signal, parent?.signal].filter((given) => given !== undefined);
    const { left } = this;
    if (left === 0) this.#fail(deadlinePassed());
    else if (left !== null) {
      this.#timer = setTimeout(() => this.#fail(deadlinePassed()), Math.min(left, longestDelay));
    }
    for (const one of this.#signals) {
      if (one.aborted) this.#onAbort();
      else one.addEventListener("abort", this.#onAbort);
    }
  }

  /** Throws if the call is over. */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Milliseconds that are left; null for no limit. */
  get left(): number | null {
    return this.#deadline === null ? null : Math.max(0, this.#deadline - performance.now());
  }

  /** The error of an attempt. A server cancels a call at its deadline, which may come before the timer of this client. */
  reasonOf(error: unknown): unknown {
    const cancelled = error instanceof GrpcError && error.grpcCode === GrpcStatus.CANCELLED;
    return cancelled && this.#failure === null && this.left === 0 ? deadlinePassed() : error;
  }

  /** Calls back with the error of a call that is over. Returns a function that ends it. */
  onOver(listener: (error: GrpcError) => void): () => void {
    if (this.#failure !== null) listener(this.#failure);
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits; rejects if the call or the channel ends during that time. `cause` is the error of the last attempt. */
  pause(milliseconds: number, cause: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const left = this.left;
      // The next attempt could not begin: the reason of the last one is the better message.
      if (this.#closed.aborted || (left !== null && left <= milliseconds)) return reject(cause);
      if (this.#failure !== null) return reject(this.#failure);
      const settle = (error?: unknown): void => {
        clearTimeout(timer);
        forget();
        this.#closed.removeEventListener("abort", onClosed);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(settle, milliseconds);
      const onClosed = (): void => settle(new GrpcError("CANCELLED", "the channel has been closed", { cause }));
      this.#closed.addEventListener("abort", onClosed);
      const forget = this.onOver(settle);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#onAbort);
  }

  #fail(error: GrpcError): void {
    this.#failure ??= error;
    for (const listener of this.#listeners) listener(this.#failure);
  }
}

/** The deadline of a call that is served ends the calls of its handler with the same code. */
function abortFailure(reason: unknown): GrpcError {
  if (reason instanceof GrpcError && reason.grpcCode === GrpcStatus.DEADLINE_EXCEEDED) return deadlinePassed();
  return new GrpcError("CANCELLED", "the call was cancelled", { cause: reason });
}

function deadlinePassed(): GrpcError {
  return new GrpcError("DEADLINE_EXCEEDED", "the deadline has passed");
}
