import type { Host } from "../../../feature/host.js";
import type { KvStore } from "../kvstore.js";
import { KvCacheStore } from "./cache.js";
import { KvBreakerStore } from "./circuits.js";
import { NearCacheStore } from "./near-cache.js";
import { KvProcessedStore } from "./processed-messages.js";
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
