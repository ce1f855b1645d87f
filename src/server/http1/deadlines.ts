import type { Clock } from "../clock.js";
import type { ServerLimits } from "../limits.js";

const lingerSeconds = 2;
const lingerSecondsInAll = 10;

/** The times that a connection gives its client, in ticks of the clock. */
export interface Deadlines {
  readonly head: number;
  readonly body: number;
  readonly bodyTotal: number;
  readonly keepAlive: number;
  readonly write: number;
  /** After the last response: without a byte from the client, and in all. */
  readonly linger: number;
  readonly lingerInAll: number;
}

export function deadlinesOf(clock: Clock, limits: ServerLimits): Deadlines {
  return {
    head: clock.ticksFor(limits.headTimeout),
    body: clock.ticksFor(limits.bodyTimeout),
    bodyTotal: clock.ticksFor(limits.bodyTotalTimeout),
    keepAlive: clock.ticksFor(limits.keepAliveTimeout),
    write: clock.ticksFor(limits.writeTimeout),
    linger: clock.ticksFor(lingerSeconds),
    lingerInAll: clock.ticksFor(lingerSecondsInAll),
  };
}
