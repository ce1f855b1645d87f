import { feature } from "../../feature/feature.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { milliseconds } from "../../kit/time/duration.js";
import { declareEngine } from "../engine.js";
import { KvStoreConfig, type KvStoreOptions } from "./config.js";
import { KvStoreError } from "./errors.js";
import type { KvStore } from "./kvstore.js";

export interface KvStoreFeature {
  /**
   * Connects to Redis or Valkey at the start: `app.kvstore`, `request.kvstore` and, shorter, `request.kv`. The rate
   * limit, the response cache, circuits, sessions and revoked tokens are then shared by all workers and machines.
   */
  enableKvstore(
    urlOrOptions?: string | ConfigOf<"KvStoreConfig"> | EitherSpelling<KvStoreOptions> | null,
    poolSize?: number,
    clusterMode?: boolean,
  ): this;
  /** The key-value store; needs `enableKvstore()`. */
  readonly kvstore: KvStore;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The key-value store. */
    readonly kvstore: KvStore;
    /** Short for `request.kvstore`. */
    readonly kv: KvStore;
  }
}

const redis = declareEngine<KvStoreConfig, KvStore>({
  name: "kvstore",
  enabledBy: "enableKvstore",
  create: async (config, logger) => (await import("./open-kvstore.js")).createKvStore(config, logger),
  refuse: (message) => new KvStoreError("CLOSED", message),
  open: async (store, host, config) => (await import("./open-kvstore.js")).startKvStore(store, config, host.logger),
  required: (config) => config.required,
  // Each connection has its own limit, with a message that names the server; this one holds should that fail.
  openWithin: (config) => config.connectTimeout + 60,
  ping: (store) => store.ping(),
  gauges: (store) => ({
    connections: { help: "Connections that all calls share.", read: () => store.stats().connections },
    connections_ready: { help: "Shared connections that are usable.", read: () => store.stats().ready },
    connections_blocking: { help: "Connections of calls that wait on the server.", read: () => store.stats().blocking },
  }),
  measure: async (store, meter) => store.measure((await import("./metrics.js")).callMeter(meter)),
  trace: (store, tracer) => store.trace(tracer),
  // Features that keep state use it.
  prepare: async (store, config, host) => {
    host.storePatienceMs = milliseconds(config.commandTimeout);
    (await import("./stores/share-stores.js")).shareStores(host, store);
  },
  review: (config) => config.overruled(),
  close: (store) => store.close(),
});

export const kvstoreFeature = feature<KvStoreFeature>({
  name: "key-value store",
  isEngine: true,
  setup: {
    enableKvstore(host, ...given) {
      redis.enable(host, KvStoreConfig.from(given));
    },
  },
  values: { kvstore: (host) => redis.of(host, "app.kvstore") },
  requestMembers: {
    kvstore: (host) => redis.of(host, "request.kvstore"),
    kv: (host) => redis.of(host, "request.kv"),
  },
  ...redis.stages,
});
