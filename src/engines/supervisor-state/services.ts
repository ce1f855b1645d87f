import { sharedMemory } from "../../server/process/shared-memory.js";
import type { HubServices } from "../../server/worker-messages/service.js";
import { cacheService } from "./cache.js";
import { circuitService } from "./circuits-service.js";
import { RateLimitService } from "./rate-limit-service.js";
import { revocationService } from "./revocations.js";
import { roomService } from "./rooms-service.js";
import { sessionService } from "./sessions.js";

/** The state that a supervisor keeps for its workers. Each kind has the same bounds as in one process. */
export function supervisorServices(): HubServices {
  return {
    "rate limit": new RateLimitService(sharedMemory()),
    cache: cacheService(),
    circuits: circuitService(sharedMemory()),
    rooms: roomService(),
    sessions: sessionService(),
    "revoked tokens": revocationService(),
  };
}
