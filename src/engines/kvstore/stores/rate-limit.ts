import { RecentMap } from "../../../batteries/rate-limit/recent-map.js";
import type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "../../../batteries/rate-limit/store.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";

type Reply = [allowed: number, remaining: number, resetMs: string, retryMs: string];

/** Requests that one call of the script counts. */
const maxBatch = 64;

/**
 * Counts requests in the key-value store, by the clock of the server. Requests of one turn of the event loop are counted by
 * one script in one round trip; in a cluster each by its own, because their keys lie on different servers.
 */
export class KvRateLimitStore implements RateLimitStore {
  readonly #scripts: Readonly<Record<RatePolicy["kind"], KvScript<Reply[]>>>;
  readonly #maxBatch: number;

  constructor(kv: KvStore) {
    this.#scripts = { token_bucket: kv.script(tokenBucket), sliding_window: kv.script(slidingWindow) };
    this.#maxBatch = kv.clustered ? 1 : maxBatch;
  }

  limiter(policy: RatePolicy): RateLimiter {
    return new KvRateLimiter(this.#scripts[policy.kind], policy, this.#maxBatch);
  }
}

interface Check {
  readonly key: string;
  readonly limit: number;
  readonly cost: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** A client that is over its limit, on the clock of this process. */
interface Refusal {
  limit: number;
  cost: number;
  remaining: number;
  retryAt: number;
  resetAt: number;
}

class KvRateLimiter implements RateLimiter {
  readonly #script: KvScript<Reply[]>;
  readonly #policy: RatePolicy;
  readonly #prefix: string;
  readonly #maxBatch: number;
  /** Requests of this turn of the event loop. */
  #checks: Check[] = [];
  /** Clients that are refused without asking the store: until `retryAt` no worker could allow a request of theirs. */
  readonly #refused: RecentMap<Refusal>;

  constructor(script: KvScript<Reply[]>, policy: RatePolicy, maxBatch: number) {
    this.#script = script;
    this.#policy = policy;
    this.#prefix = `rate:${policy.name.length}:${policy.name}:`;
    this.#maxBatch = maxBatch;
    this.#refused = new RecentMap(policy.maxKeys, policy.windowMs);
  }

  take(key: string, limit: number, cost = 1): RateVerdict | Promise<RateVerdict> {
    const now = performance.now();
    const refusal = this.#refused.get(key, now);
    if (refusal !== undefined && refusal.retryAt > now && limit <= refusal.limit && cost === refusal.cost) {
      const { remaining, resetAt, retryAt } = refusal;
      return { allowed: false, remaining, resetMs: resetAt - now, retryMs: retryAt - now };
    }
    return this.#ask(key, limit, cost, refusal);
  }

  async #ask(key: string, limit: number, cost: number, known: Refusal | undefined): Promise<RateVerdict> {
    const asked = performance.now();
    const [allowed, remaining, reset, retry] = await this.#check(this.#prefix + key, limit, cost);
    const verdict = { allowed: allowed === 1, remaining, resetMs: Number(reset), retryMs: Number(retry) };
    if (verdict.allowed) return verdict;
    // Counted from the time of asking, so that no client waits longer than it has to.
    const refusal = { limit, cost, remaining, retryAt: asked + verdict.retryMs, resetAt: asked + verdict.resetMs };
    if (known !== undefined) Object.assign(known, refusal);
    else if (this.#refused.get(key, asked) === undefined) this.#refused.add(key, refusal, asked);
    return verdict;
  }

  #check(key: string, limit: number, cost: number): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const count = this.#checks.push({ key, limit, cost, resolve, reject });
      if (count >= this.#maxBatch) this.#send();
      else if (count === 1) setImmediate(() => this.#send());
    });
  }

  #send(): void {
    const checks = this.#checks;
    if (checks.length === 0) return;
    this.#checks = [];
    const keys = checks.map(({ key }) => key);
    this.#script.run(keys, [this.#policy.windowMs, ...checks.flatMap(({ limit, cost }) => [limit, cost])]).then(
      (replies) => {
        for (const [i, { resolve }] of checks.entries()) resolve(replies[i]!);
      },
      (error: unknown) => {
        for (const { reject } of checks) reject(error);
      },
    );
  }
}

/**
 * KEYS: a key for each request. ARGV: the window, then a limit and a cost for each. A clock that was set back must not open a limit,
 * nor keep it shut for longer than a window: times ahead are moved.
 */
const counting = (take: string): string => `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local window = tonumber(ARGV[1])
local function take(key, limit, cost)${take}end
local replies = {}
for i = 1, #KEYS do replies[i] = take(KEYS[i], tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])) end
return replies
`;

/** The time at which the bucket is full again is all that is kept, as in token-buckets.ts. */
const tokenBucket = counting(`
local interval = window / limit
local full = tonumber(redis.call('GET', key) or '0')
local missing = math.min(math.max(0, full - now), window)
if full - now > window then
  redis.call('SET', key, string.format('%.3f', now + window), 'PX', math.ceil(window))
end
local taken = interval * cost
local left = window - missing - taken
if left < interval * -0.001 then
  return {0, math.max(0, math.floor((window - missing) / interval + 0.001)), tostring(missing), tostring(-left)}
end
redis.call('SET', key, string.format('%.3f', now + missing + taken), 'PX', math.ceil(missing + taken))
return {1, math.max(0, math.floor(left / interval + 0.001)), tostring(missing + taken), '0'}
`);

/** Times and counts in turn, as in sliding-windows.ts: each request while limits are small, parts of the window beyond. */
const slidingWindow = counting(`
local parts = 64
local packed = redis.call('GET', key)
local old = packed and cmsgpack.unpack(packed) or {}
local log = {}
local total = 0
local horizon = now - window
local latest = now + window / parts
local ahead = false
for i = 1, #old, 2 do
  if old[i] > horizon then
    ahead = ahead or old[i] > latest
    log[#log + 1] = math.min(old[i], latest)
    log[#log + 1] = old[i + 1]
    total = total + old[i + 1]
  end
end
if ahead then redis.call('SET', key, cmsgpack.pack(log), 'PX', math.ceil(latest + window - now)) end
if total + cost > limit then
  local last = 1
  local left = total - log[2]
  while left + cost > limit do
    last = last + 2
    left = left - log[last + 1]
  end
  local remaining = math.max(0, limit - total)
  return {0, remaining, tostring(log[#log - 1] + window - now), tostring(log[last] + window - now)}
end
local time = now
if limit > parts then
  local part = window / parts
  time = (math.floor(now / part) + 1) * part
end
if #log > 0 and log[#log - 1] >= time then
  log[#log] = log[#log] + cost
  time = log[#log - 1]
else
  log[#log + 1] = time
  log[#log + 1] = cost
end
redis.call('SET', key, cmsgpack.pack(log), 'PX', math.ceil(time + window - now))
return {1, limit - total - cost, tostring(time + window - now), '0'}
`);
