import type { ServerLimits } from "./limits.js";

/** Milliseconds that a draining server waits for the first request of a connection that it has just accepted. */
export const firstRequestGrace = 500;

/**
 * Counts ticks, about one a second, for all connections of a server. Deadlines are counted in ticks, not read off a
 * clock: no timer and no clock reading per request, and an event loop that was blocked does not make clients late.
 */
export class Clock {
  tick = 0;
  /** `Date: ...` and CRLF, for a response head. */
  dateLine: string = renderDate();
  readonly #interval: number;
  readonly #onTick: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(limits: ServerLimits, onTick: () => void) {
    const { headTimeout, bodyTimeout, bodyTotalTimeout, keepAliveTimeout, writeTimeout } = limits;
    const shortest = Math.min(headTimeout, bodyTimeout, bodyTotalTimeout, keepAliveTimeout, writeTimeout);
    this.#interval = Math.min(1000, Math.max(10, shortest * 250));
    this.#onTick = onTick;
  }

  /** The number of ticks after which so many seconds are over. */
  ticksFor(seconds: number): number {
    return Math.ceil((seconds * 1000) / this.#interval);
  }

  /** True if a connection of that tick may still be about to send its first request. Browsers and others keep spare ones. */
  isNew(since: number): boolean {
    return this.tick - since <= this.ticksFor(firstRequestGrace / 1000);
  }

  start(): void {
    if (this.#timer) return;
    this.dateLine = renderDate();
    this.#timer = setInterval(() => this.#step(), this.#interval);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #step(): void {
    this.tick++;
    this.dateLine = renderDate();
    this.#onTick();
  }
}

function renderDate(): string {
  return `Date: ${new Date().toUTCString()}\r\n`;
}
