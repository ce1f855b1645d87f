import { randomUUID } from "node:crypto";
import type { Host } from "../../../feature/host.js";
import type { Claim, ProcessedStore } from "../../messaging/consume/processed.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import { KvCacheStore } from "./cache.js";
import { KvBreakerStore } from "./circuits.js";
import { NearCacheStore } from "./near-cache.js";
import { KvRateLimitStore } from "./rate-limit.js";
import { KvRevocations } from "./revocations.js";
import { KvRoomStore } from "./rooms.js";
import { KvSessionStore } from "./sessions.js";

/** Offers the key-value store to all features that keep state: their workers and machines then share it. */
export function shareStores(host: Host, kv: KvStore): void {
  host.share("rateLimit", new KvRateLimitStore(kv));
  host.share("cache", new NearCacheStore(kv, new KvCacheStore(kv)));
  host.share("circuits", new KvBreakerStore(kv));
  host.share("rooms", new KvRoomStore(kv));
  host.share("sessions", new KvSessionStore(kv));
  host.share("revokedTokens", new KvRevocations(kv));
  host.share("processedMessages", new KvProcessedStore(kv));
}

const begin = `
local known = redis.call('GET', KEYS[1])
if known == 'done' then return 'done' end
if known then return 'busy' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 'mine'`;

/** Changes a claim if it is still that of the caller; an empty second argument deletes it. */
const change = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;

/** The ids of handled messages in the key-value store, for all processes. */
export class KvProcessedStore implements ProcessedStore {
  readonly #begin: KvScript<string>;
  readonly #change: KvScript<number>;

  constructor(kv: KvStore) {
    this.#begin = kv.script(begin);
    this.#change = kv.script(change);
  }

  async begin(id: string, leaseMs: number): Promise<Claim | "done" | "busy"> {
    const key = `message:${id}`;
    const token = randomUUID();
    const known = await this.#begin.run([key], [token, leaseMs]);
    if (known === "done" || known === "busy") return known;
    const change = async (value: string, keepMs: number): Promise<boolean> =>
      (await this.#change.run([key], [token, value, keepMs])) === 1;
    return {
      done: (keepMs) => change("done", keepMs),
      release: () => change("", 0),
      renew: (nextMs) => change(token, nextMs),
    };
  }
}
