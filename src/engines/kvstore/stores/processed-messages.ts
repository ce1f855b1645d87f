import { randomUUID } from "node:crypto";
import type { Claim, ProcessedStore } from "../../messaging/consume/processed.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";

const begin = `
local known = redis.call('GET', KEYS[1])
if known == 'done' then return 'done' end
if known then return 'busy' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 'mine'`;

/** Changes a claim if it is still that of the caller; an empty second argument deletes it. */
const change = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;

/** The ids of handled messages in the key-value store, for all processes. */
export class KvProcessedStore implements ProcessedStore {
  readonly #begin: KvScript<string>;
  readonly #change: KvScript<number>;

  constructor(kv: KvStore) {
    this.#begin = kv.script(begin);
    this.#change = kv.script(change);
  }

  async begin(id: string, lease: number): Promise<Claim | "done" | "busy"> {
    const key = `message:${id}`;
    const token = randomUUID();
    const known = await this.#begin.run([key], [token, lease]);
    if (known === "done" || known === "busy") return known;
    const change = async (value: string, milliseconds: number): Promise<boolean> =>
      (await this.#change.run([key], [token, value, milliseconds])) === 1;
    return {
      done: (keep) => change("done", keep),
      release: () => change("", 0),
      renew: (again) => change(token, again),
    };
  }
}
