import type { Logger } from "../../../kit/logger.js";

/** Milliseconds between two lines about the same. */
const interval = 60_000;

/**
 * Logs that telemetry is lost or delayed, at most once a minute for each signal: a collector that is down for an hour
 * must not fill the log. Losses in between are counted and are in the next line.
 */
export class LossReport {
  #total = 0;
  #unreported = 0;
  #reason = "";
  #last = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly logger: () => Logger,
    private readonly signal: string,
    private readonly address: string,
  ) {}

  /** Items lost since the start. */
  get total(): number {
    return this.#total;
  }

  lost(count: number, reason: string): void {
    this.#total += count;
    this.#unreported += count;
    this.#reason = reason;
    const wait = this.#last + interval - performance.now();
    if (wait <= 0) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), wait).unref();
  }

  failed(reason: string): void {
    if (performance.now() - this.#last < interval) return;
    this.#last = performance.now();
    this.logger().warn(`telemetry: ${this.signal} could not be sent to ${this.address}; will retry`, { reason });
  }

  /** Writes what has not been written. */
  end(): void {
    if (this.#unreported > 0) this.#write();
  }

  #write(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#last = performance.now();
    const fields = { lost: this.#unreported, lost_total: this.#total, reason: this.#reason };
    this.#unreported = 0;
    this.logger().warn(`telemetry: ${this.signal} were lost on the way to ${this.address}`, fields);
  }
}
