import type { CacheEntry, CacheStore, FieldOf } from "../../batteries/cache/store.js";
import type { SupervisorLink } from "../../server/exchange/link.js";
import type { HubService, HubWorker } from "../../server/exchange/service.js";
import { Members } from "./members.js";

const service = "cache";

/** Messages of a worker; the supervisor passes the last two on to the others. */
type CacheMessage = readonly ["join"] | readonly ["invalidate", ...tags: string[]] | readonly ["remove", key: string];

/** Passes invalidations on to all workers. */
export class CacheService implements HubService {
  readonly #members = new Members();

  hear(worker: HubWorker, message: CacheMessage): unknown {
    switch (message[0]) {
      case "join":
        return this.#members.join(worker);
      case "remove":
        return this.#members.tellAll(message, worker);
      case "invalidate":
        return this.#members.askAll(message, worker).then((counts) => counts.reduce<number>(plus, 0));
    }
  }

  leave(worker: HubWorker): void {
    this.#members.leave(worker);
  }

  lost(worker: HubWorker): void {
    this.#members.leave(worker);
  }
}

/** A worker that has ended dropped nothing, and has nothing any more. */
function plus(sum: number, count: unknown): number {
  return typeof count === "number" ? sum + count : sum;
}

/** Each worker has its own responses, so that a hit costs no message; invalidations reach all workers. */
export class MachineCacheStore implements CacheStore {
  readonly #link: SupervisorLink;
  readonly #own: LocalCacheStore;

  constructor(link: SupervisorLink, own: LocalCacheStore) {
    this.#link = link;
    this.#own = own;
    link.serve(service, {
      hear: (message: CacheMessage) => {
        const [kind, ...rest] = message;
        if (kind === "invalidate") return own.invalidate(rest);
        return kind === "remove" ? own.remove(message[1]) : undefined;
      },
      // Invalidations may have been among the messages that were lost.
      resync: () => {
        own.clear();
        link.tell(service, ["join"] satisfies CacheMessage);
      },
    });
    link.tell(service, ["join"] satisfies CacheMessage);
  }

  find(key: string, field: FieldOf): CacheEntry | undefined {
    return this.#own.find(key, field);
  }

  begin(): number {
    return this.#own.begin();
  }

  put(ticket: number, key: string, entry: CacheEntry): boolean {
    return this.#own.put(ticket, key, entry);
  }

  remove(key: string): void {
    this.#own.remove(key);
    this.#link.tell(service, ["remove", key] satisfies CacheMessage);
  }

  /** Resolves when no worker has a response with one of the tags. */
  async invalidate(tags: readonly string[]): Promise<number> {
    const dropped = this.#own.invalidate(tags);
    if (tags.length === 0) return dropped;
    return dropped + ((await this.#link.ask(service, ["invalidate", ...tags] satisfies CacheMessage)) as number);
  }
}

/** The store of one process. */
export interface LocalCacheStore extends CacheStore {
  find(key: string, field: FieldOf): CacheEntry | undefined;
  begin(): number;
  put(ticket: number, key: string, entry: CacheEntry): boolean;
  remove(key: string): void;
  invalidate(tags: readonly string[]): number;
  /** Drops everything; responses that are being made are not stored either. */
  clear(): void;
}
