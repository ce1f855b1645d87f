import type { HubServices } from "../../server/exchange/service.js";
import { CacheService } from "./cache.js";
import { CircuitService } from "./circuits-service.js";
import { RateLimitService } from "./rate-limit-service.js";
import { RevocationService } from "./revocations.js";
import { RoomService } from "./rooms-service.js";
import { SessionService } from "./sessions.js";

/** The state that a supervisor keeps for its workers. Each kind has the same bounds as in one process. */
export function machineServices(): HubServices {
  return {
    "rate limit": new RateLimitService(),
    cache: new CacheService(),
    circuits: new CircuitService(),
    rooms: new RoomService(),
    sessions: new SessionService(),
    "revoked tokens": new RevocationService(),
  };
}
