import { RecentMap } from "../../../batteries/rate-limit/recent-map.js";
import type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "../../../batteries/rate-limit/store.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";

type Reply = [allowed: number, remaining: number, resetMs: string, retryMs: string];

/** Counts requests in the key-value store: one script and one round trip for each, by the clock of the server. */
export class KvRateLimitStore implements RateLimitStore {
  readonly #scripts: Readonly<Record<RatePolicy["kind"], KvScript<Reply>>>;

  constructor(kv: KvStore) {
    this.#scripts = { token_bucket: kv.script(tokenBucket), sliding_window: kv.script(slidingWindow) };
  }

  limiter(policy: RatePolicy): RateLimiter {
    return new KvRateLimiter(this.#scripts[policy.kind], policy);
  }
}

/** A client that is over its limit, on the clock of this process. */
interface Refusal {
  limit: number;
  retryAt: number;
  resetAt: number;
}

class KvRateLimiter implements RateLimiter {
  readonly #script: KvScript<Reply>;
  readonly #policy: RatePolicy;
  /** Clients that are refused without asking the store: until `retryAt` no worker could allow a request of theirs. */
  readonly #refused: RecentMap<Refusal>;

  constructor(script: KvScript<Reply>, policy: RatePolicy) {
    this.#script = script;
    this.#policy = policy;
    this.#refused = new RecentMap(policy.maxKeys, policy.windowMs);
  }

  take(key: string, limit: number): RateVerdict | Promise<RateVerdict> {
    const now = performance.now();
    const refusal = this.#refused.get(key, now);
    if (refusal !== undefined && refusal.retryAt > now && limit <= refusal.limit) {
      return { allowed: false, remaining: 0, resetMs: refusal.resetAt - now, retryMs: refusal.retryAt - now };
    }
    return this.#ask(key, limit, refusal);
  }

  async #ask(key: string, limit: number, known: Refusal | undefined): Promise<RateVerdict> {
    const { name, windowMs } = this.#policy;
    const asked = performance.now();
    const [allowed, remaining, reset, retry] = await this.#script.run(
      [`rate:${name.length}:${name}:${key}`],
      [limit, windowMs],
    );
    const verdict = { allowed: allowed === 1, remaining, resetMs: Number(reset), retryMs: Number(retry) };
    if (verdict.allowed) return verdict;
    // Counted from the time of asking, so that no client waits longer than it has to.
    const refusal = { limit, retryAt: asked + verdict.retryMs, resetAt: asked + verdict.resetMs };
    if (known !== undefined) Object.assign(known, refusal);
    else if (this.#refused.get(key, asked) === undefined) this.#refused.add(key, refusal, asked);
    return verdict;
  }
}

/** A clock that was set back must not open a limit, nor keep it shut for longer than a window: times ahead are moved. */
const clock = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
`;

/** The time at which the bucket is full again is all that is kept, as in token-buckets.ts. */
const tokenBucket = `${clock}
local interval = window / limit
local full = tonumber(redis.call('GET', KEYS[1]) or '0')
local missing = math.min(math.max(0, full - now), window)
if full - now > window then
  redis.call('SET', KEYS[1], string.format('%.3f', now + window), 'PX', math.ceil(window))
end
local left = window - missing - interval
if left < interval * -0.001 then
  return {0, 0, tostring(missing), tostring(-left)}
end
redis.call('SET', KEYS[1], string.format('%.3f', now + missing + interval), 'PX', math.ceil(missing + interval))
return {1, math.max(0, math.floor(left / interval + 0.001)), tostring(missing + interval), '0'}
`;

/** Times and counts in turn, as in sliding-windows.ts: each request while limits are small, parts of the window beyond. */
const slidingWindow = `${clock}
local parts = 64
local packed = redis.call('GET', KEYS[1])
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
if ahead then redis.call('SET', KEYS[1], cmsgpack.pack(log), 'PX', math.ceil(latest + window - now)) end
if total >= limit then
  return {0, 0, tostring(log[#log - 1] + window - now), tostring(log[1] + window - now)}
end
local time = now
if limit > parts then
  local part = window / parts
  time = (math.floor(now / part) + 1) * part
end
if #log > 0 and log[#log - 1] >= time then
  log[#log] = log[#log] + 1
  time = log[#log - 1]
else
  log[#log + 1] = time
  log[#log + 1] = 1
end
redis.call('SET', KEYS[1], cmsgpack.pack(log), 'PX', math.ceil(time + window - now))
return {1, limit - total - 1, tostring(time + window - now), '0'}
`;
