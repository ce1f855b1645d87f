import type { RateLimitStore } from "../../../src/batteries/rate-limit/store.js";
import { RateLimitService } from "../../../src/engines/supervisor-state/rate-limit-service.js";
import { SupervisedRateLimitStore } from "../../../src/engines/supervisor-state/rate-limit-store.js";
import { SharedRateLimitStore } from "../../../src/engines/supervisor-state/shared-rate-limit.js";
import { createSharedMemory, SharedMemory } from "../../../src/server/process/shared-memory.js";
import { type PairedWorker, paired } from "./pair.js";

/** The memory of all tests of a file; null where the addon cannot be built. */
export const mapped: ReturnType<typeof createSharedMemory> = createSharedMemory();
if (mapped === null) console.warn("SKIPPED: the tests of shared memory, which needs the native addon");

/** The ways in which workers share their limits. */
export const ways: readonly ("messages" | "shared memory")[] = mapped ? ["messages", "shared memory"] : ["messages"];

/** The memory as the worker of an index uses it. */
export function memoryOf(index: number): SharedMemory {
  return new SharedMemory(mapped!.shared.buffer, index + 2);
}

let days = 0;

/** Workers in this process, each with its store of limits. The clock of the memory, real or not, is a day later each time. */
export function limiting(way: string, count: number): { workers: PairedWorker[]; stores: RateLimitStore[] } {
  const isShared = way === "shared memory";
  if (isShared) new Float64Array(mapped!.shared.buffer)[1] = process.hrtime()[0] - ++days * 86_400;
  const workers = paired({ "rate limit": new RateLimitService(isShared ? memoryOf(-1) : null) }, count);
  const stores = workers.map(({ link }, i) => {
    const messages = new SupervisedRateLimitStore(link, isShared);
    return isShared ? new SharedRateLimitStore(memoryOf(i), messages) : messages;
  });
  return { workers, stores };
}

let policies = 0;

/** Counts in the shared memory outlive a test: each has its own policy. */
export function nextName(): string {
  return `app ${++policies}`;
}
