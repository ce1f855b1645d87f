import { LoopWatch } from "../../kit/time/loop-watch.js";

/** The measurements of one second. */
export interface Beat {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly requests: number;
  /** Responses with status 500 and above. */
  readonly errors: number;
  /** Percentiles of the response time, in milliseconds; null in a second without requests. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly rss: number;
  readonly heap: number;
  /** The longest that the event loop was late, in milliseconds. */
  readonly lag: number;
  /** Share of the time that it was busy. */
  readonly busy: number;
}

const kept = 120;
const maxTimes = 2000;
const lookEvery = 50;

/** Measures the server once a second. */
export class Pulse {
  #beats: Beat[] = [];
  #requests = 0;
  #errors = 0;
  #times: number[] = [];
  #lag = 0;
  #utilization = performance.eventLoopUtilization();
  #watch: LoopWatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  /** The number of beats so far. */
  get count(): number {
    return this.#count;
  }

  get beats(): readonly Beat[] {
    return this.#beats;
  }

  start(): void {
    this.#watch = new LoopWatch(lookEvery, (late) => (this.#lag = Math.max(this.#lag, late)));
    this.#timer = setInterval(() => this.#beat(), 1000).unref();
  }

  stop(): void {
    this.#watch?.stop();
    clearInterval(this.#timer);
  }

  add(status: number, ms: number): void {
    this.#requests++;
    if (status >= 500) this.#errors++;
    // If there are more values than can be kept, each has the same chance.
    if (this.#times.length < maxTimes) this.#times.push(ms);
    else if (Math.random() < maxTimes / this.#requests) this.#times[Math.floor(Math.random() * maxTimes)] = ms;
  }

  #beat(): void {
    this.#watch?.look();
    const times = Float64Array.from(this.#times).sort();
    const percentile = (share: number): number | null => {
      const value = times[Math.min(times.length - 1, Math.floor(times.length * share))];
      return value === undefined ? null : Math.round(value * 1000) / 1000;
    };
    const { rss, heapUsed } = process.memoryUsage();
    const utilization = performance.eventLoopUtilization();
    this.#beats.push({
      at: Date.now(),
      requests: this.#requests,
      errors: this.#errors,
      p50: percentile(0.5),
      p95: percentile(0.95),
      p99: percentile(0.99),
      rss,
      heap: heapUsed,
      lag: Math.round(this.#lag * 100) / 100,
      busy: performance.eventLoopUtilization(utilization, this.#utilization).utilization,
    });
    if (this.#beats.length > kept) this.#beats.shift();
    this.#count++;
    this.#utilization = utilization;
    this.#requests = 0;
    this.#errors = 0;
    this.#times = [];
    this.#lag = 0;
  }
}
