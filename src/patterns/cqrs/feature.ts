import { meterOf } from "../../batteries/metrics/feature.js";
import { databaseOf } from "../../engines/db/feature.js";
import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { Duration } from "../../kit/time/duration.js";
import { enabledEventStore } from "../events/feature.js";
import { Bus, loadExecution } from "./bus.js";
import type { BusServices } from "./bus-options.js";
import { CqrsConfig, type CqrsOptions } from "./config.js";
import type { IdempotencyKeys } from "./idempotency.js";

export interface CqrsFeature {
  /** Runs typed commands and queries: `app.commands` and `app.queries`. */
  enableCqrs(
    enableEventSyncOrOptions?: boolean | ConfigOf<"CqrsConfig"> | EitherSpelling<CqrsOptions> | null,
    commandTimeoutMs?: Duration,
  ): this;
  /** Runs commands; needs `enableCqrs()`. */
  readonly commands: Bus<"command">;
  /** Runs queries; needs `enableCqrs()`. */
  readonly queries: Bus<"query">;
}

interface State {
  buses: { readonly services: BusServices; readonly commands: Bus<"command">; readonly queries: Bus<"query"> } | null;
  keys: IdempotencyKeys | null;
}

const stateOf = perHost((): State => ({ buses: null, keys: null }));

export const cqrsFeature = feature<CqrsFeature>({
  name: "commands and queries",
  setup: {
    enableCqrs(host, ...given) {
      const config = CqrsConfig.from(given);
      const services: BusServices = {
        config,
        keys: () => stateOf(host).keys,
        hasDatabase: () => databaseOrNull(host) !== null,
        eventStore: () => enabledEventStore(host),
        monitor: null,
      };
      const [commands, queries] = [new Bus("command", services), new Bus("query", services)];
      stateOf(host).buses = { services, commands, queries };
    },
  },
  values: {
    commands: (host) => busesOf(host, "app.commands").commands,
    queries: (host) => busesOf(host, "app.queries").queries,
  },
  review(host) {
    const config = stateOf(host).buses?.services.config ?? null;
    const { fields } = CqrsConfig.options;
    const unused = (["idempotencyRetention", "schema"] as const).filter(
      (name) => config !== null && config[name] !== fields[name].fallback && databaseOrNull(host) === null,
    );
    return [
      ...CqrsConfig.options.idle(config),
      ...unused.map(
        (name) => `option '${name}' in CqrsConfig has no effect: idempotency keys need app.enableDatabase()`,
      ),
      config?.enableEventSync === true &&
        enabledEventStore(host) === null &&
        "option 'enableEventSync' in CqrsConfig has no effect: it waits for projections of app.enableEventSourcing()",
    ];
  },
  async open(host) {
    const state = stateOf(host);
    if (state.buses === null) return;
    await loadExecution();
    const meter = meterOf(host);
    if (meter !== null || host.tracer !== null) {
      state.buses.services.monitor = new (await import("./monitor.js")).MessageMonitor(meter, host.tracer);
    }
    const db = databaseOrNull(host);
    if (db === null) return;
    const { IdempotencyKeys } = await import("./idempotency.js");
    const { schema, idempotencyRetention } = state.buses.services.config;
    const keys = new IdempotencyKeys(db, schema, idempotencyRetention);
    await keys.open();
    state.keys = keys;
  },
});

function busesOf(host: Host, needs: string): NonNullable<State["buses"]> {
  const { buses } = stateOf(host);
  if (buses === null) throw new Error(`${needs} needs app.enableCqrs()`);
  return buses;
}

function databaseOrNull(host: Host): ReturnType<typeof databaseOf> | null {
  try {
    return databaseOf(host, "enableCqrs()");
  } catch {
    return null;
  }
}
