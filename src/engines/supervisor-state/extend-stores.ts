import { MemoryRevocations } from "../../auth/jwt/revocations.js";
import { MemoryCacheStore } from "../../batteries/cache/memory-store.js";
import { MemorySessionStore } from "../../batteries/sessions/memory-store.js";
import type { Host } from "../../feature/host.js";
import { sharedMemory } from "../../server/process/shared-memory.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { SupervisedCacheStore } from "./cache.js";
import { SupervisedBreakerStore } from "./circuits-store.js";
import { SupervisedRateLimitStore } from "./rate-limit-store.js";
import { SupervisedRevocations } from "./revocations.js";
import { SupervisedRoomStore } from "./rooms-store.js";
import { SupervisedSessionStore } from "./sessions.js";
import { SharedBreakerStore } from "./shared-circuits.js";
import { SharedRateLimitStore } from "./shared-rate-limit.js";

/**
 * Makes the stores of this process those of all workers. There is one of each kind: several middleware with revoked
 * tokens share them, as they do in a key-value store. `onUse` is called for each store that is requested.
 */
export function extendStores(host: Host, link: SupervisorLink, onUse: () => void): void {
  const once = <Given, Store>(make: (given: Given) => Store): ((given: Given) => Store) => {
    let made: Store | undefined;
    return (given) => {
      onUse();
      return (made ??= make(given));
    };
  };
  const counts = once(() => {
    const memory = sharedMemory();
    const messages = new SupervisedRateLimitStore(link, memory !== null);
    return memory === null ? messages : new SharedRateLimitStore(memory, messages);
  });
  const circuits = once(() => {
    const memory = sharedMemory();
    const messages = new SupervisedBreakerStore(link);
    return memory === null ? messages : new SharedBreakerStore(memory, messages);
  });
  const revoked = once((own: MemoryRevocations) => new SupervisedRevocations(link, own));
  const sessions = once((own: MemorySessionStore) => new SupervisedSessionStore(link, own));
  const cache = once((own: MemoryCacheStore) => new SupervisedCacheStore(link, own));
  const rooms = once(() => new SupervisedRoomStore(link));
  host.extend("rateLimit", counts);
  host.extend("rooms", rooms);
  host.extend("circuits", circuits);
  host.extend("revokedTokens", (local) => (local instanceof MemoryRevocations ? revoked(local) : local));
  host.extend("sessions", (local) => (local instanceof MemorySessionStore ? sessions(local) : local));
  host.extend("cache", (local) => (local instanceof MemoryCacheStore ? cache(local) : local));
}
