import { setTimeout } from "node:timers/promises";
import type { LivePanel } from "../../console/panels.js";
import type { Request } from "../../http/request.js";
import type { SseEvent } from "../../http/sse.js";
import type { Middleware, RouteInfo } from "../../pipeline/middleware.js";
import type { HealthReport } from "../health/report.js";
import { Pulse } from "./pulse.js";
import { LiveRequestLog } from "./request-log.js";
import type { ListedRoute } from "./route-list.js";

export interface LiveServerOptions {
  /** Number of requests that are kept. */
  readonly requests: number;
  readonly routes: () => readonly ListedRoute[];
  /** null if there are no health checks. */
  readonly health: () => Promise<HealthReport> | null;
  readonly panels: () => Promise<readonly LivePanel[]>;
  /** Paths of requests that are left out. */
  readonly skipped: ReadonlySet<string | null>;
  /** True while the application serves and has not begun to drain. */
  readonly serving: () => boolean;
}

/** Milliseconds between two events. */
const interval = 250;
const healthEvery = 5000;
/** Largest number of requests in one event. */
const maxBatch = 100;

/** Watches the requests of an application, and sends them to open pages. */
export class LiveServer {
  readonly #options: LiveServerOptions;
  readonly #log: LiveRequestLog;
  readonly #pulse = new Pulse();
  /** By method and pattern: requests of a route, those with status 500 and above, and their time in all. */
  readonly #perRoute = new Map<string, { count: number; errors: number; ms: number }>();
  readonly #startedAt = Date.now();

  constructor(options: LiveServerOptions) {
    this.#options = options;
    this.#log = new LiveRequestLog(options.requests);
  }

  start(): void {
    this.#pulse.start();
  }

  stop(): void {
    this.#pulse.stop();
  }

  get middleware(): Middleware {
    return {
      name: "live",
      slot: "metrics",
      early: true,
      forRoute: (route) => (route.internal || this.#options.skipped.has(route.pattern) ? null : this.#watch(route)),
    };
  }

  #watch({ pattern, websocket }: RouteInfo): Middleware {
    return {
      before(request: Request) {
        if (request.startedAt === 0) request.startedAt = performance.now();
      },
      after: (request, response) => {
        const ms = performance.now() - request.startedAt;
        this.#log.add(request, response, ms);
        this.#pulse.add(response.status, ms);
        if (pattern === null) return;
        const key = `${websocket ? "WS" : request.method} ${pattern}`;
        let route = this.#perRoute.get(key);
        if (!route) this.#perRoute.set(key, (route = { count: 0, errors: 0, ms: 0 }));
        route.count++;
        route.ms += ms;
        if (response.status >= 500) route.errors++;
      },
    };
  }

  /** The whole state, then changes. Ends with the application, so that the shutdown need not wait for it. */
  async *events(signal: AbortSignal): AsyncGenerator<SseEvent> {
    let seen = this.#log.last;
    let beats = this.#pulse.count;
    let healthAt = Date.now();
    const first = await this.#everything();
    let panels = JSON.stringify(first["panels"]);
    yield { event: "hello", data: first };
    while (this.#options.serving() && !signal.aborted) {
      await setTimeout(interval, undefined, { signal }).catch(() => {});
      if (this.#log.last > seen) {
        const requests = this.#log.since(seen, maxBatch);
        yield { event: "requests", data: { requests, missed: this.#log.last - seen - requests.length } };
        seen = this.#log.last;
      }
      if (this.#pulse.count > beats) {
        beats = this.#pulse.count;
        yield { event: "beat", data: { beat: this.#pulse.beats.at(-1), perRoute: [...this.#perRoute] } };
        const now = await this.#options.panels();
        const text = JSON.stringify(now);
        if (text !== panels) {
          panels = text;
          yield { event: "panels", data: now };
        }
      }
      if (Date.now() - healthAt >= healthEvery) {
        healthAt = Date.now();
        yield { event: "health", data: await this.#options.health() };
      }
    }
  }

  async #everything(): Promise<Record<string, unknown>> {
    return {
      pid: process.pid,
      node: process.version,
      startedAt: this.#startedAt,
      routes: this.#options.routes(),
      beats: this.#pulse.beats,
      requests: this.#log.since(0),
      perRoute: [...this.#perRoute],
      health: await this.#options.health(),
      panels: await this.#options.panels(),
    };
  }
}
