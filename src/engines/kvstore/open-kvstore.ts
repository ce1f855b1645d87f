import type { ConfigOf } from "../../kit/config-of.js";
import type { Logger } from "../../kit/logger.js";
import type { EitherSpelling } from "../../kit/names.js";
import { KvStoreConfig, type KvStoreOptions } from "./config.js";
import type { KvStore } from "./kvstore.js";

/** Connects to a key-value store without an application: for scripts and tests. */
export async function openKvStore(
  config?: ConfigOf<"KvStoreConfig"> | EitherSpelling<KvStoreOptions> | string | null,
  options: { readonly logger?: Logger } = {},
): Promise<KvStore> {
  const store = await createKvStore(KvStoreConfig.from([config]), options.logger);
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** Makes a store that is not connected yet. */
export async function createKvStore(config: KvStoreConfig, logger?: Logger): Promise<KvStore> {
  const [{ loadIoredis }, { KvStore }] = await Promise.all([import("./load-ioredis.js"), import("./kvstore.js")]);
  return new KvStore(await loadIoredis(), config, logger);
}
