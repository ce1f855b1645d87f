import { feature } from "../../feature/feature.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { engine } from "../engine.js";
import { KvStoreConfig, type KvStoreOptions } from "./config.js";
import { KvHandle } from "./kv-handle.js";
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
  interface RequestSlots {
    /** The key-value store. */
    readonly kvstore: KvStore;
    /** Short for `request.kvstore`. */
    readonly kv: KvStore;
  }
}

const redis = engine<KvStoreConfig, KvHandle>({
  name: "kvstore",
  enabledBy: "enableKvstore",
  create: (config, logger) => new KvHandle(config, logger),
  open: (handle) => handle.open(),
  required: (config) => config.required,
  // Each connection has its own limit, with a message that names the server; this one holds should that fail.
  openWithin: (config) => config.connectTimeout + 60,
  ping: (handle) => handle.store.ping(),
  gauges: (handle) => ({
    connections: { help: "Connections that all calls share.", read: () => handle.loaded?.stats().connections ?? 0 },
    connections_ready: { help: "Shared connections that are usable.", read: () => handle.loaded?.stats().ready ?? 0 },
    connections_blocking: {
      help: "Connections of calls that wait on the server.",
      read: () => handle.loaded?.stats().blocking ?? 0,
    },
  }),
  async measure(handle, meter) {
    const { callMeter } = await import("./metrics.js");
    (await handle.load()).measure(callMeter(meter));
  },
  trace: async (handle, tracer) => (await handle.load()).trace(tracer),
  prepare: (handle, _config, host) => handle.share(host),
  close: (handle) => handle.close(),
});

export const kvstoreFeature = feature<KvStoreFeature>({
  name: "key-value store",
  isEngine: true,
  setup: {
    enableKvstore(host, ...given) {
      redis.enable(host, KvStoreConfig.from(given));
    },
  },
  values: { kvstore: (host) => redis.of(host, "app.kvstore").store },
  requestMembers: {
    kvstore: (host) => redis.of(host, "request.kvstore").store,
    kv: (host) => redis.of(host, "request.kv").store,
  },
  ...redis.stages,
});
