import type { Logger } from "../../kit/logger.js";
import type { RunningRoutes } from "./running-routes.js";

/** Deaths in a row, each at most this many milliseconds after the one before, after which their route is refused. */
const deadlyAfter = { deaths: 3, window: 60_000 };

/** Finds the route that was running each time when workers died one after another. */
export class DeadlyRoutes {
  #deaths: { readonly routes: RunningRoutes; readonly at: number }[] = [];

  /** The route to refuse after this death, or null. */
  add(routes: RunningRoutes, now: number = performance.now()): string | null {
    const recent = this.#deaths.filter(({ at }) => now - at < deadlyAfter.window);
    this.#deaths = [...recent, { routes, at: now }].slice(-deadlyAfter.deaths);
    if (this.#deaths.length < deadlyAfter.deaths) return null;
    const { last } = routes;
    if (last !== null && this.#deaths.every((death) => death.routes.last === last)) return last;
    const common = routes.inFlight.filter((route) =>
      this.#deaths.every((death) => death.routes.inFlight.includes(route)),
    );
    // With several it could be any of them.
    return common.length === 1 ? common[0]! : null;
  }
}

/** The routes that are refused for a while, because they killed one worker after another. */
export class RefusedRoutes {
  readonly #deadly = new DeadlyRoutes();
  readonly #refused = new Set<string>();

  /** `publish` is called with all refused routes whenever they change. With 0 seconds none is refused. */
  constructor(
    private readonly seconds: number,
    private readonly logger: Logger,
    private readonly publish: (routes: readonly string[]) => void,
  ) {}

  get list(): string[] {
    return [...this.#refused];
  }

  /** A worker has died while it ran these routes. */
  blame(routes: RunningRoutes): void {
    const seconds = this.seconds;
    const route = this.#deadly.add(routes);
    if (seconds === 0 || route === null || this.#refused.has(route)) return;
    this.#refused.add(route);
    this.publish(this.list);
    setTimeout(() => {
      this.#refused.delete(route);
      this.publish(this.list);
    }, seconds * 1000).unref();
    const text = `${route} was running when ${deadlyAfter.deaths} workers died: it is refused for ${seconds} s`;
    this.logger.error(text, { route, seconds });
  }
}
