import type { RevocationStore } from "../../../auth/jwt/revocations.js";
import type { EndingListener } from "../../../pipeline/open-authorities.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import { watchEndings } from "./endings.js";

/**
 * Revoked tokens in the key-value store, each until it expires by itself. A failure refuses the token: see JwtAuth.
 *
 * Beside them lies the time since when the store has kept them. A store that lost its data has lost that time too, and gets
 * another: tokens that were issued before it may have been revoked, and are refused.
 */
export class KvRevocations implements RevocationStore {
  readonly #kv: KvStore;
  readonly #look: KvScript<[issuedUpTo: number, since: number]>;
  readonly #add: KvScript<number>;
  readonly #parts: number;

  constructor(kv: KvStore) {
    this.#kv = kv;
    this.#look = kv.script(look);
    this.#add = kv.script(add);
    this.#parts = kv.clustered ? clusterParts : 1;
    // Right after the start, so that no token is issued before.
    kv.onReady(() => {
      for (let part = 0; part < this.#parts; part++) this.#look.run(keysOf("", part)).catch(() => undefined);
    });
  }

  async has(id: string, issuedAt?: number): Promise<boolean> {
    const [issuedUpTo, since] = await this.#look.run(keysOf(id, this.#partOf(id)));
    if (issuedAt === undefined) return issuedUpTo > 0;
    // Many tokens have their time in whole seconds.
    return issuedUpTo === always || issuedAt <= issuedUpTo || issuedAt < since;
  }

  async add(id: string, until: number, ends = "", issuedUpTo = always): Promise<boolean> {
    const args = [until, this.#kv.prefixed(channel), ends, issuedUpTo];
    return (await this.#add.run(keysOf(id, this.#partOf(id)), args)) === 1;
  }

  watch(listener: EndingListener): void {
    watchEndings(this.#kv, channel, listener);
  }

  #partOf(id: string): number {
    let sum = 0;
    for (let i = 0; i < id.length; i++) sum = (sum * 31 + id.charCodeAt(i)) | 0;
    return Math.abs(sum % this.#parts);
  }
}

const channel = "revoked:ended";

/** In place of a time: the id is revoked for all tokens. */
const always = 1;

/** The servers of a cluster lose their data each for itself: a time for each part of the ids. */
const clusterParts = 16;

function keysOf(id: string, part: number): [since: string, revoked: string] {
  return [`revoked:{${part}}:since`, `revoked:{${part}}:id:${id}`];
}

const since = `
local since = redis.call('GET', KEYS[1])
if not since then
  since = redis.call('TIME')[1]
  redis.call('SET', KEYS[1], since)
end
`;

const look = `${since}return {tonumber(redis.call('GET', KEYS[2]) or 0), tonumber(since)}`;

// The time that is left is that of the store: a machine whose clock is ahead must not shorten it. And a minute more, for one
// whose clock is behind. Without the right to publish the token is revoked all the same. A time replaces an earlier one.
const add = `${since}if ARGV[3] ~= '' then redis.pcall('PUBLISH', ARGV[2], ARGV[3]) end
if tonumber(redis.call('GET', KEYS[2]) or 0) >= tonumber(ARGV[4]) then return 0 end
local left = math.max(1, math.ceil(ARGV[1] - redis.call('TIME')[1])) + 60
redis.call('SET', KEYS[2], ARGV[4], 'EX', string.format('%.0f', left))
return 1`;
