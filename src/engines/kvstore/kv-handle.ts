import type { Host } from "../../feature/host.js";
import type { Logger } from "../../internal/logger.js";
import type { KvStoreConfig } from "./config.js";
import { KvStoreError } from "./errors.js";
import type { KvStore } from "./kvstore.js";

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
    return this.#store ?? (this.#early ??= standIn(() => this.#store));
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
    // Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load.
    const [store, { shareStores }] = await Promise.all([this.load(), import("./stores/share-stores.js")]);
    shareStores(host, store);
  }

  async open(): Promise<void> {
    await (await this.load()).open();
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }

  async #create(): Promise<KvStore> {
    const { createKvStore } = await import("./open-kvstore.js");
    return (this.#store = await createKvStore(this.config, this.#logger));
  }
}

/** Passes everything on to the store, for code that took `app.kvstore` before the start. */
function standIn(find: () => KvStore | null): KvStore {
  const bound = new Map<PropertyKey, unknown>();
  return new Proxy(Object.create(null) as KvStore, {
    get(_, name) {
      const store = find();
      if (store === null) {
        if (typeof name === "symbol" || name === "then") return undefined;
        throw new KvStoreError("CLOSED", "the key-value store is connected when the application starts: not yet");
      }
      const known = bound.get(name);
      if (known !== undefined) return known;
      const member: unknown = Reflect.get(store, name, store);
      if (typeof member !== "function") return member;
      const method: unknown = member.bind(store);
      bound.set(name, method);
      return method;
    },
  });
}
