import { backoff } from "../../../kit/time/backoff.js";
import { GrpcError } from "../grpc-error.js";
import { retryPushback } from "../metadata.js";

/** Times are in milliseconds. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly first: number;
  readonly longest: number;
  readonly factor: number;
  readonly jitter: number;
  readonly codes: ReadonlySet<number>;
  /** True if only calls are repeated that the server has not begun or that are idempotent. */
  readonly onlySafe: boolean;
  /** Time after which a further attempt begins beside those that run; null for one attempt at a time. */
  readonly hedgeAfter: number | null;
}

/** The state of an attempt that has failed. */
export interface FailedAttempt {
  /** True if the call can be sent again: nothing of the response was received, and its messages are kept. */
  readonly repeatable: boolean;
  /** True if the server has not looked at the call. */
  readonly unseen: boolean;
  /** True if the server has refused the stream. */
  readonly refused: boolean;
}

/** The further attempts of one call (gRFC A6). */
export class Retries {
  /** Attempts that the server was told of, before the present one. */
  previous = 0;
  #sincePushback = 0;
  #repeatedUnseen = false;
  #forbidden = false;

  constructor(
    private readonly policy: RetryPolicy,
    private readonly throttle: RetryThrottle | null,
    private readonly idempotent: boolean,
  ) {}

  succeeded(): void {
    this.throttle?.succeeded();
  }

  /** Milliseconds before the next attempt; null for none. */
  pauseAfter(error: unknown, { repeatable, unseen, refused }: FailedAttempt): number | null {
    const { attempts, codes, onlySafe, first, longest, factor, jitter } = this.policy;
    if (!(error instanceof GrpcError) || !repeatable) return null;
    // No handler has seen the call. Once, at once: a server that is about to stop refuses streams.
    if (refused && !this.#repeatedUnseen) {
      this.#repeatedUnseen = true;
      return 0;
    }
    const pushback = readPushback(error);
    if (pushback !== "never" && !codes.has(error.grpcCode)) return null;
    const isThrottled = this.throttle?.failed() ?? false;
    if (pushback === "never" || isThrottled || this.previous + 1 >= attempts) return null;
    if (onlySafe && !unseen && !this.idempotent) return null;
    this.previous++;
    if (pushback !== null) {
      this.#sincePushback = 0;
      return pushback;
    }
    return backoff(this.#sincePushback++, first, longest, factor, jitter);
  }

  /** True if a further attempt can begin beside those that run. */
  get mayHedge(): boolean {
    return !this.#forbidden && !this.throttle?.isEmpty && this.previous + 1 < this.policy.attempts;
  }

  /** Milliseconds before the next attempt, when one beside others has failed; null for none, "fatal" if the call is over. */
  hedgeAfterFailure(error: unknown): number | "fatal" | null {
    if (!(error instanceof GrpcError) || !this.policy.codes.has(error.grpcCode)) return "fatal";
    this.throttle?.failed();
    const pushback = readPushback(error);
    if (pushback === "never") this.#forbidden = true;
    return this.mayHedge ? ((pushback as number | null) ?? 0) : null;
  }
}

/** Stops retries while many calls fail. One for all calls of a channel. */
export class RetryThrottle {
  readonly #most: number;
  readonly #ratio: number;
  #tokens: number;

  constructor({ maxTokens, tokenRatio }: { readonly maxTokens: number; readonly tokenRatio: number }) {
    this.#most = this.#tokens = maxTokens;
    this.#ratio = tokenRatio;
  }

  succeeded(): void {
    this.#tokens = Math.min(this.#most, this.#tokens + this.#ratio);
  }

  /** True if the call must not be repeated. */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.isEmpty;
  }

  get isEmpty(): boolean {
    return this.#tokens <= this.#most / 2;
  }
}

/** The milliseconds that the server asks to wait; null if it does not. Any other text means that it wants no further attempt. */
function readPushback({ metadata }: GrpcError): number | "never" | null {
  const text = metadata.get(retryPushback);
  if (text === undefined) return null;
  return /^\d{1,9}$/.test(text) ? Number(text) : "never";
}
