import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { Logger } from "../../kit/logger.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import { KvStoreConfig, type KvStoreOptions } from "./config.js";
import { KvStoreError } from "./errors.js";
import type { KvStore } from "./kvstore.js";
import { isHopeless } from "./translate-error.js";

/** Seconds for which a start waits for a store that it can do without. */
const optionalWithin = 1;

const openOptions = declare("openKvStore()", {
  /** Of failures in the background. Default: none. */
  logger: option<Logger>(is.object),
});

export interface OpenKvStoreOptions extends OptionsOf<typeof openOptions.fields> {}

/** Connects to a key-value store without an application: for scripts and tests. */
export async function openKvStore(
  config?: ConfigOf<"KvStoreConfig"> | EitherSpelling<KvStoreOptions> | string | null,
  options?: OpenKvStoreOptions,
): Promise<KvStore> {
  const { logger } = openOptions.read([options]);
  const store = await createKvStore(KvStoreConfig.from([config]), logger);
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** Connects. A store that is not required is connected later if it cannot be reached; a wrong password is an error all the same. */
export async function startKvStore(store: KvStore, config: KvStoreConfig, logger: Logger): Promise<void> {
  const { required, connectTimeout } = config;
  try {
    await store.open(required ? connectTimeout : Math.min(connectTimeout, optionalWithin));
  } catch (error) {
    if (required || !(error instanceof KvStoreError) || isHopeless(error.cause)) {
      await store.close();
      throw error;
    }
    const cure = "is the server running, and does app.enableKvstore() have its address and password?";
    logger.error(`${error.message}; the application starts without it; ${cure}`);
  }
}

/** Makes a store that is not connected yet. */
export async function createKvStore(config: KvStoreConfig, logger?: Logger): Promise<KvStore> {
  const [{ loadIoredis }, { KvStore }] = await Promise.all([import("./load-ioredis.js"), import("./kvstore.js")]);
  return new KvStore(await loadIoredis(), config, logger);
}
