import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { isPerProcess } from "../../pipeline/shared-stores.js";
import { settingsOf } from "../../routing/definition.js";
import { isRateLimitOption, RateLimitConfig, type RateLimitOptions } from "./config.js";
import type { RateLimitStore } from "./store.js";

export interface RateLimitFeature {
  /**
   * Limits the requests of each client: 100 in 60 seconds by default. Clients over the limit get 429. Of several
   * limits a request must be within all.
   */
  enableRateLimit(config?: OneLimit | null, ...more: readonly OneLimit[]): this;
}

type OneLimit = ConfigOf<"RateLimitConfig"> | EitherSpelling<RateLimitOptions>;

interface RateLimitOption {
  /** The limit of this route, or a list of limits, in place of that of `enableRateLimit()`; false for none. */
  readonly rateLimit?: OneLimit | readonly OneLimit[] | false;
}

declare module "../../routing/options.js" {
  interface CommonRouteOptions extends RateLimitOption {}
  interface BlueprintOptions extends RateLimitOption {}
}

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    rateLimit: RateLimitStore;
  }
}

interface State {
  general: readonly RateLimitConfig[] | null;
  off: boolean;
  /** Null before the start, and where nothing is limited. */
  store: RateLimitStore | null;
}

const stateOf = perHost((): State => ({ general: null, off: false, store: null }));

export const rateLimitFeature = feature<RateLimitFeature>({
  name: "rate limit",
  setup: {
    enableRateLimit(host, ...configs) {
      const given = configs.length > 0 ? configs : [undefined];
      stateOf(host).general = given.map((config) => RateLimitConfig.from([config]));
    },
  },
  routeOptions: { rateLimit: { check: isRateLimitOption, websocket: true, blueprint: true } },
  async prepare(host) {
    const { general, off } = stateOf(host);
    if (off) return;
    if (general === null && !host.routes.some((route) => settingsOf(route).rateLimit)) return;
    const { rateLimits } = await import("./rate-limits.js");
    const { MemoryRateLimitStore } = await import("./memory-store.js");
    const store = host.store("rateLimit", {
      holds: "counts of the rate limit",
      given: general?.find((config) => config.store)?.store,
      local: () => new MemoryRateLimitStore(),
    });
    stateOf(host).store = store;
    host.use(rateLimits(general, store, host.fallback("rateLimit", new MemoryRateLimitStore()), host.logger));
  },
  review(host) {
    const { general, store } = stateOf(host);
    const isLocal = store !== null && isPerProcess(store);
    return [
      isLocal &&
        general?.some(({ onStoreError }) => onStoreError === "deny") === true &&
        "option 'onStoreError' in RateLimitConfig has no effect: counts are in memory; enable a key-value store to share them",
    ];
  },
});

/** Turns off the limits of the application and of its routes; for tests. */
export function switchRateLimitsOff(host: Host): void {
  stateOf(host).off = true;
}

/** True if the requests of clients are limited on all routes that do not opt out. */
export function limitsAllRoutes(host: Host): boolean {
  return stateOf(host).general !== null;
}
