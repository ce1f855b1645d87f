import { MemoryRevocations } from "../../auth/jwt/revocations.js";
import { MemoryCacheStore } from "../../batteries/cache/memory-store.js";
import { MemorySessionStore } from "../../batteries/sessions/memory-store.js";
import type { Host } from "../../feature/host.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { MachineCacheStore } from "./cache.js";
import { MachineBreakerStore } from "./circuits-store.js";
import { MachineRateLimitStore } from "./rate-limit-store.js";
import { MachineRevocations } from "./revocations.js";
import { MachineRoomStore } from "./rooms-store.js";
import { MachineSessionStore } from "./sessions.js";

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
  const counts = once(() => new MachineRateLimitStore(link));
  const circuits = once(() => new MachineBreakerStore(link));
  const revoked = once((own: MemoryRevocations) => new MachineRevocations(link, own));
  const sessions = once((own: MemorySessionStore) => new MachineSessionStore(link, own));
  const cache = once((own: MemoryCacheStore) => new MachineCacheStore(link, own));
  const rooms = once(() => new MachineRoomStore(link));
  host.extend("rateLimit", counts);
  host.extend("rooms", rooms);
  host.extend("circuits", circuits);
  host.extend("revokedTokens", (local) => (local instanceof MemoryRevocations ? revoked(local) : local));
  host.extend("sessions", (local) => (local instanceof MemorySessionStore ? sessions(local) : local));
  host.extend("cache", (local) => (local instanceof MemoryCacheStore ? cache(local) : local));
}
