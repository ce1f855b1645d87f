import type { Host } from "../../feature/host.js";
import { deferredClient } from "../../kit/before-start.js";
import type { Logger } from "../../kit/logger.js";
import type { KvStoreConfig } from "./config.js";
import { KvStoreError } from "./errors.js";
import type { KvStore } from "./kvstore.js";
import { isHopeless } from "./translate-error.js";

/** Seconds for which a start waits for a store that it can do without. */
const optionalWithin = 1;

const closed = (message: string): KvStoreError => new KvStoreError("CLOSED", message);

/** The store of an application. Its code, and ioredis, are loaded when the application starts. */
export class KvHandle {
  readonly config: KvStoreConfig;
  readonly #logger: Logger;
  #store: KvStore | null = null;
  #loading: Promise<KvStore> | null = null;
  #early: KvStore | null = null;

  constructor(config: KvStoreConfig, logger: Logger) {
    this.config = config;
    this.#logger = logger;
  }

  /** The store; before the start a stand-in, which becomes the store when the application has started. */
  get store(): KvStore {
    return this.#store ?? (this.#early ??= deferredClient("app.kvstore", () => this.#store, closed));
  }

  get loaded(): KvStore | null {
    return this.#store;
  }

  load(): Promise<KvStore> {
    this.#loading ??= this.#create();
    return this.#loading;
  }

  /** Offers stores to the features that keep state. */
  async share(host: Host): Promise<void> {
    const [store, { shareStores }] = await Promise.all([this.load(), import("./stores/share-stores.js")]);
    shareStores(host, store);
  }

  /** Connects. A store that is not required is connected later if it is away; a wrong password is an error all the same. */
  async open(): Promise<void> {
    const store = await this.load();
    const { required, connectTimeout } = this.config;
    try {
      await store.open(required ? connectTimeout : Math.min(connectTimeout, optionalWithin));
    } catch (error) {
      if (required || !(error instanceof KvStoreError) || isHopeless(error.cause)) {
        await store.close();
        throw error;
      }
      this.#logger.error(`${error.message}; the application starts without it`);
    }
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }

  async #create(): Promise<KvStore> {
    const { createKvStore } = await import("./open-kvstore.js");
    return (this.#store = await createKvStore(this.config, this.#logger));
  }
}
