import { AsyncResource } from "node:async_hooks";
import { type CacheEntry, type CacheStore, cacheTime, type FieldOf } from "../../../batteries/cache/store.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import { KvStoreError } from "../errors.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import { beginLua, findLua, invalidateLua, putLua, removeLua, sweepLua } from "./cache-lua.js";

/** Parts of the cache in a cluster: each lies on one server, so that its scripts see all their keys. */
const clusterParts = 32;
/** The number of keys whose varying fields are cached, to find an entry in one round trip. */
const maxHints = 10_000;
/** The fields by which entries of a key vary may change while we ask. */
const maxRounds = 3;

type FindReply = [kind: 0, lists: Buffer] | [kind: 1, entry: Buffer] | [kind: 2, ticket: number];

/**
 * Responses in the key-value store. An entry is found only while all its tags know it: a tag that is invalidated, or
 * evicted by the server, takes its entries with it. Entries end with their time; the size of the cache is bounded by
 * the server (`maxmemory`).
 */
export class KvCacheStore implements CacheStore {
  readonly #kv: KvStore;
  readonly #parts: number;
  readonly #begin: KvScript<number>;
  readonly #find: KvScript<FindReply>;
  readonly #put: KvScript<number>;
  readonly #remove: KvScript<number>;
  readonly #invalidate: KvScript<[dropped: number, ...dead: string[]]>;
  readonly #sweep: KvScript<number>;
  readonly #deleteLater: (root: string, dead: readonly string[]) => void;
  /** By key, the lists of fields by which its entries vary, as JSON, newest first. */
  readonly #hints = new Map<string, string>();
  /** By key, the ticket that came with the reply that there is no entry: it saves a round trip. */
  readonly #tickets = new Map<string, number>();

  constructor(kv: KvStore) {
    this.#kv = kv;
    this.#parts = kv.clustered ? clusterParts : 1;
    this.#begin = kv.script(beginLua);
    this.#find = kv.bytesScript(findLua);
    this.#put = kv.script(putLua);
    this.#remove = kv.script(removeLua);
    this.#invalidate = kv.script(invalidateLua);
    this.#sweep = kv.script(sweepLua);
    // Bound here: it is no part of the request that invalidates, nor of its trace. If it fails, entries end with their time.
    this.#deleteLater = AsyncResource.bind((root: string, dead: readonly string[]) => {
      this.#deleteAll(root, dead).catch(() => undefined);
    });
  }

  async find(key: string, field: FieldOf): Promise<CacheEntry | undefined> {
    const { root, id } = this.#placeOf(key);
    for (let round = 0; round < maxRounds; round++) {
      const hint = this.#hints.get(id) ?? noFields;
      const variants = readNames(hint).map((names) => variantOf(names.map((name) => [name, field(name) ?? null])));
      const reply = await this.#find.run([root, `${root}:${id}`], [hint, ...variants]);
      if (reply[0] === 1) return decodeEntry(reply[1]);
      if (reply[0] === 2) {
        if (this.#tickets.size >= maxHints) this.#tickets.clear();
        // In a cluster the time is that of one server, which may be another.
        if (this.#parts === 1) this.#tickets.set(key, reply[1]);
        return undefined;
      }
      this.#remember(id, String(reply[1]));
    }
    return undefined;
  }

  /**
   * A ticket is the server's time: later than every invalidation that has ended. One from a while ago does no harm: the
   * entry is not kept if it was invalidated since.
   */
  begin(key?: string): number | Promise<number> {
    const ticket = key === undefined ? undefined : this.#tickets.get(key);
    if (ticket === undefined) return this.#begin.run([this.#clockKey], [0]).then(Number);
    this.#tickets.delete(key!);
    return ticket;
  }

  async put(ticket: number, key: string, entry: CacheEntry): Promise<boolean> {
    const { root, id } = this.#placeOf(key);
    const stale = entry.mayBeStale ? Math.max(entry.staleWhileRevalidateMs, entry.staleIfErrorMs) : 0;
    const ttl = Math.ceil(entry.freshUntil + stale - cacheTime());
    if (ttl <= 0) return true;
    const names = entry.vary.map(([name]) => name);
    const hint = withFirst(names, readNames(this.#hints.get(id) ?? noFields));
    const args = [ticket, Math.min(ttl, maxTtl), variantOf(entry.vary), JSON.stringify(names), encodeEntry(entry)];
    const kept = await this.#put.run([root, `${root}:${id}`], [...args, ...entry.tags.map(tagId)]);
    if (kept === 1) this.#remember(id, hint);
    return kept === 1;
  }

  async exclusively<T>(key: string, leaseMs: number, run: () => Promise<T>): Promise<T | null> {
    let began = false;
    const begin = (): Promise<T> => {
      began = true;
      return run();
    };
    try {
      return await this.#kv.lock(`cache:${this.idOf(key)}`, { ttl: leaseMs / 1000 }, begin);
    } catch (error) {
      if (began) throw error;
      return error instanceof KvStoreError && error.code === "LOCKED" ? null : run();
    }
  }

  async remove(key: string): Promise<void> {
    const { root, id } = this.#placeOf(key);
    await this.#remove.run([root, `${root}:${id}`]);
  }

  async invalidate(tags: readonly string[]): Promise<number> {
    if (tags.length === 0) return 0;
    const time = await this.#begin.run([this.#clockKey], [1]);
    const ids = [...new Set(tags)].map(tagId);
    const roots = Array.from({ length: this.#parts }, (_, part) => rootOf(part));
    const counts = await Promise.all(
      roots.map(async (root) => {
        const [dropped, ...dead] = await this.#invalidate.run([root], [time, ...ids]);
        if (dead.length > 0) this.#deleteLater(root, dead);
        return dropped;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Frees the memory of entries that are not found any more, some at a time: the server has others to serve. */
  async #deleteAll(root: string, dead: readonly string[]): Promise<void> {
    for (const set of dead) while ((await this.#sweep.run([root], [set])) === 1);
  }

  /** The name of a key, and of a tag, in the messages about dropped entries. */
  idOf(key: string): string {
    return this.#placeOf(key).id;
  }

  tagId(tag: string): string {
    return tagId(tag);
  }

  /** The time is that of one server, whatever part an entry lies in. */
  get #clockKey(): string {
    return `${rootOf(0)}:clock`;
  }

  #placeOf(key: string): { root: string; id: string } {
    const hash = nodeCrypto().createHash("sha256").update(key, "utf16le").digest();
    return { root: rootOf(hash[0]! % this.#parts), id: hash.toString("base64url") };
  }

  #remember(id: string, hint: string): void {
    if (this.#hints.size >= maxHints) this.#hints.clear();
    if (hint === noFields) this.#hints.delete(id);
    else this.#hints.set(id, hint);
  }
}

/** Milliseconds; a year. */
const maxTtl = 31_536_000_000;
/** One list, of no fields. */
const noFields = "[[]]";

/** Braces keep all keys of a part on one server of a cluster. */
function rootOf(part: number): string {
  return `cache:{${part}}`;
}

/** Of bounded length, and without characters that could be taken for something else. Text that is no valid Unicode has no UTF-8. */
function tagId(tag: string): string {
  return nodeCrypto().createHash("sha256").update(tag, "utf16le").digest("base64url");
}

function variantOf(vary: CacheEntry["vary"]): string {
  return vary.length === 0 ? "-" : tagId(JSON.stringify(vary));
}

function readNames(hint: string): string[][] {
  try {
    const lists: unknown = JSON.parse(hint);
    return Array.isArray(lists) ? lists.filter((list) => Array.isArray(list)) : [];
  } catch {
    return [];
  }
}

function withFirst(names: readonly string[], lists: readonly (readonly string[])[]): string {
  const first = JSON.stringify(names);
  const rest = lists.map((list) => JSON.stringify(list)).filter((list) => list !== first);
  return `[${[first, ...rest].join(",")}]`;
}

/** Cache entries as bytes: the length of the head in four bytes, the head as JSON, the body unchanged. */

const headLength = 4;

/** An entry as bytes. */
export function encodeEntry({ body, ...head }: CacheEntry): Buffer {
  const kind = body === null ? 0 : typeof body === "string" ? 1 : 2;
  const text = Buffer.from(JSON.stringify([kind, head]));
  const bytes = body === null ? Buffer.alloc(0) : typeof body === "string" ? Buffer.from(body) : body;
  const whole = Buffer.allocUnsafe(headLength + text.length + bytes.length);
  whole.writeUInt32BE(text.length, 0);
  text.copy(whole, headLength);
  whole.set(bytes, headLength + text.length);
  return whole;
}

/** Undefined for bytes that are no entry: written by another version, or by another program. */
export function decodeEntry(whole: Buffer): CacheEntry | undefined {
  if (whole.length < headLength) return undefined;
  const end = headLength + whole.readUInt32BE(0);
  if (end > whole.length) return undefined;
  try {
    const parsed: unknown = JSON.parse(whole.toString("utf8", headLength, end));
    if (!Array.isArray(parsed) || typeof parsed[1] !== "object" || parsed[1] === null) return undefined;
    const [kind, head] = parsed as [number, Omit<CacheEntry, "body">];
    const { freshUntil, initialAgeMs, fields, vary } = head;
    if (!Number.isFinite(freshUntil) || !Number.isFinite(initialAgeMs)) return undefined;
    if (!Array.isArray(fields) || !Array.isArray(vary)) return undefined;
    const bytes = whole.subarray(end);
    return { ...head, body: kind === 0 ? null : kind === 1 ? bytes.toString() : bytes };
  } catch {
    return undefined;
  }
}
