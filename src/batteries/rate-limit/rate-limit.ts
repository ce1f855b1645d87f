import { type HttpError, httpError } from "../../errors/http-error.js";
import { unavailable } from "../../errors/paced.js";
import { withoutStack } from "../../errors/without-stack.js";
import { setMissingField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { asPromise, isPromise } from "../../kit/is-promise.js";
import type { Logger } from "../../kit/logger.js";
import { show } from "../../kit/options.js";
import { Pace } from "../../kit/time/pace.js";
import type { OnError, Run } from "../../pipeline/middleware.js";
import { storeReply } from "../../pipeline/store-reply.js";
import { AdaptiveLimit } from "./adaptive-limit.js";
import type { RateLimitConfig } from "./config.js";
import { addressKeys, boundedKey } from "./identity.js";
import { MemoryRateLimitStore } from "./memory-store.js";
import type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "./store.js";

type Answer = Response | Promise<Response>;

/** The decision of one limit about a request. */
interface Judged {
  readonly verdict: RateVerdict;
  readonly limit: number;
}

/** The decision, or null if the request is not limited. */
type Judgement = Judged | null | Promise<Judged | null>;

/** Lets a request pass if it is within all limits. The response has the headers of the tightest. */
export function limited(limits: readonly RateLimit[], next: Run, onError: OnError): Run {
  const run = limits.reduce((inner, limit) => limit.measured(inner), next);
  /** `known` is the decision of the first of them, if a store was waited for. */
  const from = (index: number, request: Request, tightest: Judged | null, known?: Judged | null): Answer => {
    for (let i = index; i < limits.length; i++) {
      let judged: Judgement;
      try {
        judged = known === undefined ? limits[i]!.judge(request) : known;
        known = undefined;
      } catch (error) {
        return onError(request, error, "sync");
      }
      if (judged instanceof Promise) return later(i, request, tightest, judged);
      if (judged === null) continue;
      const { verdict } = judged;
      if (!verdict.allowed) return described(onError(request, tooMany(verdict.retryMs), "sync"), judged);
      if (tightest === null || isTighter(verdict, tightest.verdict)) tightest = judged;
    }
    return described(run(request), tightest);
  };
  // Apart from the loop, whose variables would otherwise be kept on the heap for every request.
  const later = (
    index: number,
    request: Request,
    tightest: Judged | null,
    judged: Promise<Judged | null>,
  ): Promise<Response> =>
    judged.then(
      (known) => from(index, request, tightest, known),
      (error: unknown) => onError(request, error, "async"),
    );
  return (request) => from(0, request, null);
}

function isTighter(one: RateVerdict, other: RateVerdict): boolean {
  return one.remaining === other.remaining ? one.resetMs > other.resetMs : one.remaining < other.remaining;
}

/** Limits the requests of each client. One for each config; routes that share a config share its counts. */
export class RateLimit {
  readonly #config: RateLimitConfig;
  readonly #policy: RatePolicy;
  readonly #limiter: RateLimiter;
  /** Counts on this machine while the store fails. */
  readonly #fallback: RateLimiter | null;
  /** Counts in this process while that one fails too. */
  #own: RateLimiter | null = null;
  readonly #adaptive: AdaptiveLimit | null;
  readonly #addressKey: (request: Request) => string;
  readonly #logger: Logger;
  readonly #paces = { store: new Pace(), shadow: new Pace() };

  constructor(name: string, config: RateLimitConfig, store: RateLimitStore, fallback: RateLimitStore, logger: Logger) {
    const { kind, maxKeys } = config;
    const windowMs = config.windowSecs * 1000;
    this.#config = config;
    this.#logger = logger;
    this.#addressKey = addressKeys(config.ipv6Prefix);
    this.#policy = { name, kind: kind === "sliding_window" ? kind : "token_bucket", windowMs, maxKeys };
    this.#limiter = store.limiter(this.#policy);
    // Made at the start: the supervisor knows limiters by their order, which is the same in all workers.
    this.#fallback = store === fallback ? null : fallback.limiter(this.#policy);
    this.#adaptive =
      kind === "adaptive"
        ? new AdaptiveLimit({ ...config, windowMs, latencyMs: config.latencyMs }, performance.now())
        : null;
  }

  get windowMs(): number {
    return this.#policy.windowMs;
  }

  /** Responses of an adaptive limit are measured. */
  measured(run: Run): Run {
    return this.#adaptive === null ? run : measured(run, this.#adaptive);
  }

  /** Throws, or rejects, if the request must be refused for another reason than its limit. */
  judge(request: Request): Judgement {
    const { key } = this.#config;
    if (key === undefined) return this.#count(request, this.#addressKey(request));
    const given: unknown = key(request);
    if (!isPromise(given)) return this.#judgeBy(request, given);
    return asPromise(given).then((value) => this.#judgeBy(request, value));
  }

  #judgeBy(request: Request, given: unknown): Judgement {
    if (typeof given === "string") return this.#count(request, boundedKey(given));
    if (given === null) return null;
    if (given === undefined) return this.#count(request, this.#addressKey(request));
    throw new TypeError(`the key of a rate limit must be a string, null or undefined, not ${typeof given}`);
  }

  #count(request: Request, key: string): Judgement {
    const limit = this.#adaptive?.current(performance.now()) ?? this.#config.maxRequests;
    let cost = 1;
    if (this.#config.cost !== undefined) {
      cost = Math.min(limit, checkedCost(this.#config.cost(request)));
      if (cost === 0) return null;
    }
    let verdict: RateVerdict | Promise<RateVerdict>;
    try {
      verdict = this.#limiter.take(key, limit, cost);
    } catch (error) {
      return this.#countWithoutStore(error, key, limit, cost);
    }
    if (!(verdict instanceof Promise)) return this.#settle(verdict, limit);
    return this.#settleLater(storeReply(request, verdict), key, limit, cost);
  }

  #settleLater(reply: Promise<RateVerdict>, key: string, limit: number, cost: number): Promise<Judged | null> {
    return reply.then(
      (verdict) => this.#settle(verdict, limit),
      (error: unknown) => this.#countWithoutStore(error, key, limit, cost),
    );
  }

  #settle(verdict: RateVerdict, limit: number): Judged | null {
    if (!this.#config.shadow) return { verdict, limit };
    if (!verdict.allowed) this.#report();
    return null;
  }

  #countWithoutStore(error: unknown, key: string, limit: number, cost: number): Judgement {
    this.#complain(error);
    if (this.#config.onStoreError === "deny" && !this.#config.shadow) throw unavailable();
    const alone = (): Judged | null => {
      this.#own ??= new MemoryRateLimitStore().limiter(this.#policy);
      return this.#settle(this.#own.take(key, limit, cost) as RateVerdict, limit);
    };
    if (this.#fallback === null) return alone();
    let verdict: RateVerdict | Promise<RateVerdict>;
    try {
      verdict = this.#fallback.take(key, limit, cost);
    } catch {
      return alone();
    }
    // The machine itself replies soon, however long the request has waited for the store.
    if (!(verdict instanceof Promise)) return this.#settle(verdict, limit);
    return verdict.then((settled) => this.#settle(settled, limit), alone);
  }

  #report(): void {
    const more = this.#paces.shadow.next();
    if (more === null) return;
    const { maxRequests, windowSecs } = this.#config;
    const limit = { limit: this.#policy.name, max_requests: maxRequests, window_secs: windowSecs };
    this.#logger.warn("a rate limit would have refused a request, but is a shadow", { ...limit, ...more });
  }

  #complain(error: unknown): void {
    const more = this.#paces.store.next();
    if (more === null) return;
    const what = this.#config.onStoreError === "deny" ? "requests are refused" : "each machine counts for itself";
    this.#logger.error(`the store of the rate limit failed: ${what}`, { error, ...more });
  }
}

function checkedCost(cost: unknown): number {
  if (typeof cost === "number" && Number.isSafeInteger(cost) && cost >= 0) return cost;
  if (isPromise(cost)) asPromise(cost).catch(() => {});
  throw new TypeError(`the cost of a request must be a whole number from 0 on, not ${show(cost)}`);
}

function described(answer: Answer, judged: Judged | null): Answer {
  if (judged === null) return answer;
  return answer instanceof Promise ? answer.then((response) => describe(response, judged)) : describe(answer, judged);
}

function describe(response: Response, { verdict, limit }: Judged): Response {
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
