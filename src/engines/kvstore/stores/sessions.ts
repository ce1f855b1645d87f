import type { SessionStore, StoredSession } from "../../../batteries/sessions/store.js";
import { unavailable } from "../../../errors/paced.js";
import type { EndingListener } from "../../../pipeline/open-authorities.js";
import { KvStoreError } from "../errors.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import { watchEndings } from "./endings.js";

/** Sessions in the key-value store, as JSON. Requests with a session get 503 while the store is away. */
export class KvSessionStore implements SessionStore {
  readonly #kv: KvStore;
  readonly #destroy: KvScript<number>;

  constructor(kv: KvStore) {
    this.#kv = kv;
    this.#destroy = kv.script(destroyLua);
  }

  get(key: string): Promise<StoredSession | null> {
    return this.#kv.getJson<StoredSession>(keyOf(key)).catch((error: unknown) => {
      // Not written here, and of no use to anybody: the client gets a new session.
      if (error instanceof KvStoreError && error.code === "DATA") return null;
      return refuse(error);
    });
  }

  set(key: string, session: StoredSession, ttl: number): Promise<void> {
    return this.#kv.setJson(keyOf(key), session, { ttl: atLeastOne(ttl) }).catch(refuse);
  }

  /** One call, so that a session that is ended at the same time stays ended. */
  touch(key: string, session: StoredSession, ttl: number): Promise<boolean> {
    return this.#kv.setIfPresent(keyOf(key), JSON.stringify(session), { ttl: atLeastOne(ttl) }).catch(refuse);
  }

  destroy(key: string): Promise<number> {
    return this.#destroy.run([keyOf(key)], [this.#kv.prefixed(channel), key]).catch(refuse);
  }

  watch(listener: EndingListener): void {
    watchEndings(this.#kv, channel, listener);
  }
}

const channel = "session:ended";

// Without the right to publish the session ends all the same.
const destroyLua = `
redis.pcall('PUBLISH', ARGV[1], ARGV[2])
return redis.call('DEL', KEYS[1])
`;

function keyOf(key: string): string {
  return `session:${key}`;
}

/** The last moments of a session: it may have less than nothing left when it is written. */
function atLeastOne(ttl: number): number {
  return Math.max(1, ttl);
}

function refuse(cause: unknown): never {
  throw unavailable(cause);
}
