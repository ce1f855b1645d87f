import { type HttpError, httpError } from "../../errors/http-error.js";
import { unavailable } from "../../errors/paced.js";
import { withoutStack } from "../../errors/without-stack.js";
import { setMissingField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { asPromise, isPromise } from "../../kit/is-promise.js";
import type { Logger } from "../../kit/logger.js";
import { Pace } from "../../kit/time/pace.js";
import type { Middleware, OnError, Run } from "../../pipeline/middleware.js";
import { storeReply } from "../../pipeline/store-reply.js";
import { AdaptiveLimit } from "./adaptive-limit.js";
import type { RateLimitConfig } from "./config.js";
import { addressKeys, boundedKey } from "./identity.js";
import { MemoryRateLimitStore } from "./memory-store.js";
import type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "./store.js";

type Answer = Response | Promise<Response>;

/** Limits the requests of each client. One for each config; routes that share a config share its counts. */
export class RateLimit implements Pick<Middleware, "wrap"> {
  readonly #config: RateLimitConfig;
  readonly #policy: RatePolicy;
  readonly #limiter: RateLimiter;
  /** Counts on this machine while the store fails. */
  readonly #fallback: RateLimiter | null;
  /** Counts in this process while that one fails too. */
  #own: RateLimiter | null = null;
  readonly #adaptive: AdaptiveLimit | null;
  readonly #logger: Logger;
  readonly #pace = new Pace();

  constructor(name: string, config: RateLimitConfig, store: RateLimitStore, fallback: RateLimitStore, logger: Logger) {
    const { kind, maxKeys } = config;
    const windowMs = config.windowSecs * 1000;
    this.#config = config;
    this.#logger = logger;
    this.#policy = { name, kind: kind === "sliding_window" ? kind : "token_bucket", windowMs, maxKeys };
    this.#limiter = store.limiter(this.#policy);
    // Made at the start: the supervisor knows limiters by their order, which is the same in all workers.
    this.#fallback = store === fallback ? null : fallback.limiter(this.#policy);
    this.#adaptive =
      kind === "adaptive"
        ? new AdaptiveLimit({ ...config, windowMs, latencyMs: config.latencyMs }, performance.now())
        : null;
  }

  wrap(next: Run, onError: OnError): Run {
    const run = this.#adaptive === null ? next : measured(next, this.#adaptive);
    const decide = (request: Request, key: string): Answer => {
      const limit = this.#adaptive?.current(performance.now()) ?? this.#config.maxRequests;
      let verdict: RateVerdict | Promise<RateVerdict>;
      try {
        verdict = this.#limiter.take(key, limit);
      } catch (error) {
        return undecided(request, error, key, limit);
      }
      if (!(verdict instanceof Promise)) return settle(request, verdict, limit);
      return storeReply(request, verdict).then(
        (value) => settle(request, value, limit),
        (error: unknown) => undecided(request, error, key, limit),
      );
    };
    const undecided = (request: Request, error: unknown, key: string, limit: number): Answer => {
      this.#complain(error);
      if (this.#config.onStoreError === "deny") return onError(request, unavailable(), "async");
      const alone = (): Answer => {
        this.#own ??= new MemoryRateLimitStore().limiter(this.#policy);
        return settle(request, this.#own.take(key, limit) as RateVerdict, limit);
      };
      if (this.#fallback === null) return alone();
      const verdict = this.#fallback.take(key, limit);
      if (!(verdict instanceof Promise)) return settle(request, verdict, limit);
      return verdict.then((value) => settle(request, value, limit), alone);
    };
    const settle = (request: Request, verdict: RateVerdict, limit: number): Answer => {
      const answer = verdict.allowed ? run(request) : onError(request, tooMany(verdict.retryMs), "sync");
      return answer instanceof Promise
        ? answer.then((response) => describe(response, verdict, limit))
        : describe(answer, verdict, limit);
    };
    const { key, ipv6Prefix } = this.#config;
    const addressKey = addressKeys(ipv6Prefix);
    if (key === undefined) return (request) => decide(request, addressKey(request));
    const decideBy = (request: Request, given: unknown): Answer => {
      if (typeof given === "string") return decide(request, boundedKey(given));
      if (given === null) return run(request);
      if (given === undefined) return decide(request, addressKey(request));
      const wrong = new TypeError(`the key of a rate limit must be a string, null or undefined, not ${typeof given}`);
      return onError(request, wrong, "sync");
    };
    return (request) => {
      let given: unknown;
      try {
        given = key(request);
      } catch (error) {
        return onError(request, error, "sync");
      }
      if (!isPromise(given)) return decideBy(request, given);
      return asPromise(given).then(
        (value) => decideBy(request, value),
        (error: unknown) => onError(request, error, "async"),
      );
    };
  }

  #complain(error: unknown): void {
    const more = this.#pace.next();
    if (more === null) return;
    const what = this.#config.onStoreError === "deny" ? "requests are refused" : "each machine counts for itself";
    this.#logger.error(`the store of the rate limit failed: ${what}`, { error, ...more });
  }
}

function describe(response: Response, verdict: RateVerdict, limit: number): Response {
  const most = String(limit);
  const remaining = String(verdict.remaining);
  const reset = String(Math.ceil(verdict.resetMs / 1000));
  const fields = (response.fields = response.fields === null ? [] : withoutLimits(response.fields));
  fields.push("RateLimit-Limit", most, "RateLimit-Remaining", remaining, "RateLimit-Reset", reset);
  fields.push("X-RateLimit-Limit", most, "X-RateLimit-Remaining", remaining, "X-RateLimit-Reset", reset);
  if (!verdict.allowed) setMissingField(response, "Retry-After", String(wholeSeconds(verdict.retryMs)));
  return response;
}

/** Removes the limit fields of a response that was fetched elsewhere: clients would take them for ours. */
function withoutLimits(fields: string[]): string[] {
  for (let i = fields.length - 2; i >= 0; i -= 2) {
    const first = fields[i]!.charCodeAt(0) | 0x20;
    if ((first === 0x72 || first === 0x78) && limitField.test(fields[i]!)) fields.splice(i, 2);
  }
  return fields;
}

const limitField = /^(?:x-)?ratelimit-(?:limit|remaining|reset)$/i;

function tooMany(retryMs: number): HttpError {
  const seconds = wholeSeconds(retryMs);
  return withoutStack(() =>
    httpError("TOO_MANY_REQUESTS", `Too many requests: try again in ${seconds} s.`, {
      headers: { "Retry-After": String(seconds) },
      extensions: { retry_after: seconds },
    }),
  );
}

/** Rounded up, so that a client that waits that long is let through; one second at least. */
function wholeSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

function measured(next: Run, adaptive: AdaptiveLimit): Run {
  return (request) => {
    const start = performance.now();
    const record = (response: Response): Response => {
      adaptive.record(response.status >= 500, performance.now() - start);
      return response;
    };
    const answer = next(request);
    return answer instanceof Promise ? answer.then(record) : record(answer);
  };
}
