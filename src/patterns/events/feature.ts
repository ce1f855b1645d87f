import type { HealthResult } from "../../batteries/health/check.js";
import { registerHealthCheck } from "../../batteries/health/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import type { Database } from "../../engines/db/database.js";
import { databaseOf } from "../../engines/db/feature.js";
import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { milliseconds } from "../../kit/time/duration.js";
import { EventSourcingConfig, type EventSourcingOptions } from "./config.js";
import { EventStore } from "./event-store.js";
import type { PersonalData } from "./personal/personal-data.js";
import type { EventStorage } from "./storage/storage.js";
import type { RunnerProgress } from "./subscription-runner.js";

export interface EventSourcingFeature {
  /** Stores events, in PostgreSQL or in memory: `app.eventStore`, and `request.eventStore` in handlers. */
  enableEventSourcing(
    storeTypeOrOptions?:
      | "auto"
      | "memory"
      | "postgres"
      | ConfigOf<"EventSourcingConfig">
      | EitherSpelling<EventSourcingOptions>
      | null,
    snapshotInterval?: number,
    enableSnapshots?: boolean,
  ): this;
  /** The store of events; needs `enableEventSourcing()`. */
  readonly eventStore: EventStore;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The store of events. */
    readonly eventStore: EventStore;
    /** `eventStore` in snake case. */
    readonly event_store: EventStore;
  }
}

interface State {
  config: EventSourcingConfig | null;
  store: EventStore | null;
}

const stateOf = perHost((): State => ({ config: null, store: null }));

export const eventSourcingFeature = feature<EventSourcingFeature>({
  name: "event sourcing",
  setup: {
    enableEventSourcing(host, ...given) {
      const state = stateOf(host);
      state.config = EventSourcingConfig.from(given);
      state.store = null;
    },
  },
  values: { eventStore: (host) => eventStoreOf(host, "app.eventStore") },
  requestMembers: { eventStore: (host) => eventStoreOf(host, "request.eventStore") },
  async prepare(host) {
    if (stateOf(host).config === null) return;
    const store = eventStoreOf(host, "app.eventStore");
    registerHealthCheck(host, "events", () => subscriptionHealth(store.progress), { critical: false });
    (await import("./page.js")).addEventPanels(host, store);
  },
  review: (host) => EventSourcingConfig.options.idle(stateOf(host).config),
  async open(host) {
    const { config } = stateOf(host);
    if (config === null) return;
    const store = eventStoreOf(host, "app.eventStore");
    const db = databaseFor(host, config);
    const [{ OpenedStore }, { EventWorkers }] = await Promise.all([
      import("./opened-store.js"),
      import("./workers.js"),
    ]);
    const storage =
      db === null
        ? new (await import("./storage/memory-storage.js")).MemoryStorage()
        : new (await import("./storage/postgres-storage.js")).PostgresStorage(db, config.schema, host.logger);
    const personal = !config.personalKeys?.length ? null : await personalData(host, config, store, storage, db);
    const workers = new EventWorkers(storage, db, config, store.upcasters, host.logger);
    const inline = db && {
      db,
      projectionsFor: (category: string, types: readonly string[]) => workers.inlineFor(category, types),
    };
    const opened = new OpenedStore(storage, config, store.upcasters, host.logger, personal, inline);
    const meter = meterOf(host);
    if (meter !== null || host.tracer !== null) {
      const { EventMonitor } = await import("./monitor.js");
      opened.monitor = workers.monitor = new EventMonitor(meter, host.tracer, () => workers.progress());
    }
    await store.attach(opened, workers);
  },
  async close(host) {
    await stateOf(host).store?.close();
  },
});

/** The event store of an application; `needs` names the member that was read, for the error without one. */
function eventStoreOf(host: Host, needs: string): EventStore {
  const state = stateOf(host);
  if (state.config === null) throw new Error(`${needs} needs app.enableEventSourcing()`);
  return (state.store ??= new EventStore());
}

/** The event store of an application that has enabled it; else null. */
export function enabledEventStore(host: Host): EventStore | null {
  return stateOf(host).config === null ? null : eventStoreOf(host, "app.eventStore");
}

/** Failures of one event in a row after which a subscription is reported. */
const manyFailures = 3;

function subscriptionHealth(all: readonly RunnerProgress[]): HealthResult {
  const failing = all.filter(({ active, failures }) => active && failures >= manyFailures);
  if (failing.length === 0) return "UP";
  return {
    status: "DEGRADED",
    message: `handlers of events keep failing: ${failing.map(({ name }) => name).join(", ")}`,
  };
}

async function personalData(
  host: Host,
  config: EventSourcingConfig,
  store: EventStore,
  storage: EventStorage,
  db: Database | null,
): Promise<PersonalData> {
  const [{ PersonalData }, { SubjectKeys }, { MemoryKeys, PostgresKeys }] = await Promise.all([
    import("./personal/personal-data.js"),
    import("./personal/subject-keys.js"),
    import("./personal/key-storages.js"),
  ]);
  const keys = db === null ? new MemoryKeys(storage) : new PostgresKeys(db, config.schema, host.logger, storage);
  const subjectKeys = new SubjectKeys(keys, config.personalKeys ?? [], milliseconds(config.keyCache), host.logger);
  return new PersonalData(store.personalFields, subjectKeys);
}

/** Null for memory. */
function databaseFor(host: Host, config: EventSourcingConfig): Database | null {
  if (config.storeType === "memory") return inMemory(host);
  try {
    return databaseOf(host, "enableEventSourcing() with store_type 'postgres'");
  } catch (error) {
    if (config.storeType === "postgres") throw error;
    return inMemory(host);
  }
}

function inMemory(host: Host): null {
  const line = "events are kept in memory: they are lost when the process ends, and workers do not share them";
  if (host.env === "production" || host.settings.workers > 1) host.logger.warn(line);
  else host.logger.info(line);
  return null;
}
