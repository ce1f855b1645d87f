import type { OwnedSessions, SessionStore, StoredSession } from "../../../batteries/sessions/store.js";
import { unavailable } from "../../../errors/paced.js";
import type { EndingListener } from "../../../pipeline/open-authorities.js";
import { KvStoreError } from "../errors.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import { watchEndings } from "./endings.js";

/** Sessions in the key-value store, as JSON. Requests with a session get 503 while the store cannot be reached. */
export class KvSessionStore implements SessionStore {
  readonly #kv: KvStore;
  readonly #destroy: KvScript<number>;
  readonly #add: KvScript<number>;
  readonly #list: KvScript<string[]>;
  readonly #unlist: KvScript<number>;

  constructor(kv: KvStore) {
    this.#kv = kv;
    this.#destroy = kv.script(destroyLua);
    this.#add = kv.script(addLua);
    this.#list = kv.script("return redis.call('ZRANGE', KEYS[1], 0, ARGV[1])");
    this.#unlist = kv.script("return redis.call('ZREM', KEYS[1], unpack(ARGV))");
  }

  get(key: string): Promise<StoredSession | null> {
    return this.#kv.getJson<StoredSession>(keyOf(key)).catch((error: unknown) => {
      // Not written here, and of no use: the client gets a new session.
      if (error instanceof KvStoreError && error.code === "DATA") return null;
      return refuse(error);
    });
  }

  set(key: string, session: StoredSession, ttl: number): Promise<void> {
    const kept = this.#kv.setJson(keyOf(key), session, { ttl: atLeastOne(ttl) });
    return this.#listed(key, session, ttl, kept).catch(refuse);
  }

  /** One call, so that a session that is ended at the same time stays ended. */
  touch(key: string, session: StoredSession, ttl: number): Promise<boolean> {
    const kept = this.#kv.setIfPresent(keyOf(key), JSON.stringify(session), { ttl: atLeastOne(ttl) });
    return this.#listed(key, session, ttl, kept).catch(refuse);
  }

  async destroy(key: string): Promise<boolean> {
    return (await this.#destroy.run([keyOf(key)], [this.#kv.prefixed(channel), key]).catch(refuse)) === 1;
  }

  /** Until none is listed: one that is regenerated in between lists the new one before it ends the former one. */
  async destroyAll(owner: string): Promise<readonly string[]> {
    const list = [listOf(owner)];
    const ended: string[] = [];
    for (;;) {
      const keys = await this.#list.run(list, [batch - 1]).catch(refuse);
      if (keys.length === 0) return ended;
      const were = await Promise.all(keys.map((key) => this.destroy(key)));
      await this.#unlist.run(list, keys).catch(refuse);
      // Those that had ended before are listed too.
      ended.push(...keys.filter((_key, at) => were[at]));
    }
  }

  async list(owner: string): Promise<OwnedSessions> {
    const keys = await this.#list.run([listOf(owner)], [-1]).catch(refuse);
    const found: [key: string, session: StoredSession][] = [];
    for (let i = 0; i < keys.length; i += batch) {
      const some = keys.slice(i, i + batch);
      const sessions = await Promise.all(some.map((key) => this.get(key)));
      // Those that have ended are listed too.
      for (const [at, session] of sessions.entries()) if (session !== null) found.push([some[at]!, session]);
    }
    return found;
  }

  watch(listener: EndingListener): void {
    watchEndings(this.#kv, channel, listener);
  }

  /** Side by side with the session: a client gets its cookie only if both have succeeded. */
  async #listed<T>(key: string, { owner }: StoredSession, ttl: number, kept: Promise<T>): Promise<T> {
    if (owner === undefined) return kept;
    const [result] = await Promise.all([kept, this.#add.run([listOf(owner)], [key, Math.ceil(atLeastOne(ttl))])]);
    return result;
  }
}

const channel = "session:ended";

// Without the right to publish the session ends all the same.
const destroyLua = `
redis.pcall('PUBLISH', ARGV[1], ARGV[2])
return redis.call('DEL', KEYS[1])
`;

/** The sessions of a user, by the time at which they end. In a cluster they can lie on any server. */
const addLua = `
local now = tonumber(redis.call('TIME')[1])
local ttl = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ttl, ARGV[1])
if redis.call('TTL', KEYS[1]) < ttl then redis.call('EXPIRE', KEYS[1], ttl) end
return 1
`;

/** Sessions of a user that are read or destroyed at once. */
const batch = 100;

function listOf(owner: string): string {
  return `sessions-of:${owner}`;
}

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
