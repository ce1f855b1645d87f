import type { RevocationStore } from "../../../auth/jwt/revocations.js";
import type { KvStore } from "../kvstore.js";

/** Revoked tokens in the key-value store, each until it expires by itself. A failure refuses the token: see JwtAuth. */
export class KvRevocations implements RevocationStore {
  readonly #kv: KvStore;

  constructor(kv: KvStore) {
    this.#kv = kv;
  }

  has(id: string): Promise<boolean> {
    return this.#kv.has(keyOf(id));
  }

  add(id: string, until: number): Promise<boolean> {
    // A minute more, for a server whose clock is ahead.
    const ttl = Math.max(1, Math.ceil(until - Date.now() / 1000)) + 60;
    return this.#kv.setIfAbsent(keyOf(id), 1, { ttl });
  }
}

function keyOf(id: string): string {
  return `revoked:${id}`;
}
