import type { Logger } from "../../../kit/logger.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import { MasterKeys, type SubjectKey, type WrappedKey } from "./master-keys.js";

/** The place of the keys of persons. */
export interface KeyStorage {
  /** True if what is written now is not final: a transaction around the caller may be rolled back. */
  readonly provisional: boolean;
  bySubject(subjects: readonly string[]): Promise<WrappedKey[]>;
  byId(ids: readonly string[]): Promise<WrappedKey[]>;
  /** Adds keys of subjects that have none; one that exists stays. */
  add(keys: readonly WrappedKey[]): Promise<void>;
  /** Notes that a stream has events of these subjects. */
  note(subjects: readonly string[], stream: string): Promise<void>;
  /** Deletes a key and the snapshots with data of the subject; null if there is no key. */
  forget(subject: string): Promise<{ readonly id: string | null; readonly streams: string[] }>;
  /** Keys that are not wrapped with a master key, up to a limit. */
  notWrappedBy(master: string, limit: number): Promise<WrappedKey[]>;
  rewrap(key: WrappedKey): Promise<void>;
  /** Calls back when a worker has deleted a key. */
  onForgotten(listener: (id: string) => void): Promise<void>;
  close(): Promise<void>;
}

/** Keys that are kept in memory, at most. */
const mostKeys = 10_000;
const rewrapAtOnce = 100;

/**
 * The keys of persons, with a cache. A key that another worker has deleted leaves the cache with its notification, or
 * after `cacheMs` where no notification arrives.
 */
export class SubjectKeys {
  readonly #masters: MasterKeys;
  /** By subject for writing and by id for reading. Null for a key that does not exist any more. */
  readonly #known = new Map<string, { readonly key: SubjectKey | null; readonly until: number }>();
  /** Counts the keys that were deleted. One that was read before such a moment and arrives after it is not kept. */
  #dropped = 0;

  constructor(
    readonly storage: KeyStorage,
    secrets: readonly string[],
    readonly cacheMs: number,
    readonly logger: Logger,
  ) {
    this.#masters = new MasterKeys(secrets);
  }

  async open(): Promise<void> {
    await this.storage.onForgotten((id) => this.#drop(id));
  }

  close(): Promise<void> {
    return this.storage.close();
  }

  /** The keys of subjects; made for those that have none. */
  async forWriting(subjects: readonly string[], stream: string): Promise<ReadonlyMap<string, SubjectKey>> {
    const found = new Map<string, SubjectKey>();
    for (const subject of subjects) {
      const key = this.#cached(writeName(stream, subject));
      if (key) found.set(subject, key);
    }
    const missing = subjects.filter((subject) => !found.has(subject));
    if (missing.length === 0) return found;
    const dropped = this.#dropped;
    const read = async (): Promise<void> => {
      for (const wrapped of await this.storage.bySubject(missing)) {
        found.set(wrapped.subject, { id: wrapped.id, key: this.#masters.unwrap(wrapped) });
      }
    };
    await read();
    const absent = missing.filter((subject) => !found.has(subject));
    if (absent.length > 0) {
      await this.storage.add(absent.map((subject) => this.#masters.wrap(newKey(), subject)));
      await read();
    }
    await this.storage.note(missing, stream);
    if (!this.storage.provisional && dropped === this.#dropped) {
      for (const subject of missing) this.#keep(writeName(stream, subject), found.get(subject)!);
    }
    return found;
  }

  /** The keys by id; those that were deleted are absent. */
  async forReading(ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
    const found = new Map<string, Buffer>();
    const missing: string[] = [];
    for (const id of ids) {
      const key = this.#cached(readName(id));
      if (key) found.set(id, key.key);
      else if (key === undefined) missing.push(id);
    }
    if (missing.length === 0) return found;
    const dropped = this.#dropped;
    for (const wrapped of await this.storage.byId(missing)) found.set(wrapped.id, this.#masters.unwrap(wrapped));
    if (!this.storage.provisional && dropped === this.#dropped) {
      for (const id of missing) {
        const key = found.get(id);
        this.#keep(readName(id), key === undefined ? null : { id, key });
      }
    }
    return found;
  }

  async forget(subject: string): Promise<readonly string[]> {
    const { id, streams } = await this.storage.forget(subject);
    if (id !== null) this.#drop(id);
    return streams;
  }

  /** Wraps all keys with the first master key; returns how many were changed. */
  async rotate(): Promise<number> {
    for (let total = 0; ; ) {
      const keys = await this.storage.notWrappedBy(this.#masters.current, rewrapAtOnce);
      for (const wrapped of keys) {
        const key = { id: wrapped.id, key: this.#masters.unwrap(wrapped) };
        await this.storage.rewrap(this.#masters.wrap(key, wrapped.subject));
      }
      total += keys.length;
      if (keys.length < rewrapAtOnce) return total;
    }
  }

  #cached(name: string): SubjectKey | null | undefined {
    const known = this.#known.get(name);
    if (known === undefined || known.until < performance.now()) return undefined;
    return known.key;
  }

  #keep(name: string, key: SubjectKey | null): void {
    this.#known.delete(name);
    this.#known.set(name, { key, until: performance.now() + this.cacheMs });
    if (this.#known.size > mostKeys) this.#known.delete(this.#known.keys().next().value!);
  }

  #drop(id: string): void {
    this.#dropped++;
    for (const [name, { key }] of this.#known) if (key?.id === id) this.#known.delete(name);
  }
}

function newKey(): SubjectKey {
  return { id: nodeCrypto().randomUUID(), key: nodeCrypto().randomBytes(32) };
}

/** Names in the cache. Neither streams nor subjects contain U+0000, so two pairs never have one name. */
function writeName(stream: string, subject: string): string {
  return `w\0${stream}\0${subject}`;
}

function readName(id: string): string {
  return `r\0${id}`;
}
