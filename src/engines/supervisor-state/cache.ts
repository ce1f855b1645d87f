import type { CacheEntry, CacheStore, FieldOf } from "../../batteries/cache/store.js";
import { is } from "../../kit/options.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { Caller, call, callService, checkPart } from "./calls.js";
import { Members } from "./members.js";

/** To a worker: the call of another one. */
type CacheMessage = readonly ["invalidate", ...tags: string[]] | readonly ["remove", key: string];

/** Passes invalidations on to all workers. */
export function cacheService() {
  const members = new Members();
  return callService(
    {
      join: (worker) => members.join(worker),
      remove: call([is.string], (worker, key) => members.tellAll(["remove", key] satisfies CacheMessage, worker)),
      async invalidate(worker, ...tags: string[]) {
        checkPart("the tags", tags, is.strings);
        const counts = await members.askAll(["invalidate", ...tags] satisfies CacheMessage, worker);
        return counts.reduce<number>(plus, 0);
      },
    },
    (worker) => members.leave(worker),
  );
}

/** A worker that has ended dropped nothing, and has nothing any more. */
function plus(sum: number, count: unknown): number {
  return typeof count === "number" ? sum + count : sum;
}

/** Each worker has its own responses, so that a hit costs no message; invalidations reach all workers. */
export class SupervisedCacheStore implements CacheStore {
  readonly #others: Caller<ReturnType<typeof cacheService>>;
  readonly #own: LocalCacheStore;
  /** Null once the supervisor passes invalidations on to this worker. */
  #joining: Promise<void> | null;

  constructor(link: SupervisorLink, own: LocalCacheStore) {
    this.#others = new Caller(link, "cache");
    this.#own = own;
    link.serve("cache", {
      hear: ([kind, ...rest]: CacheMessage) => (kind === "invalidate" ? own.invalidate(rest) : own.remove(rest[0]!)),
      // Invalidations may have been among the messages that were lost.
      resync: () => {
        own.clear();
        this.#others.tell("join");
      },
    });
    const joined = (): void => {
      this.#joining = null;
    };
    this.#joining = this.#others.ask("join", []).then(joined, joined);
  }

  find(key: string, field: FieldOf): CacheEntry | undefined {
    return this.#own.find(key, field);
  }

  /** A response that is made before would miss invalidations. */
  begin(): number | Promise<number> {
    return this.#joining === null ? this.#own.begin() : this.#joining.then(() => this.#own.begin());
  }

  put(ticket: number, key: string, entry: CacheEntry): boolean {
    return this.#own.put(ticket, key, entry);
  }

  remove(key: string): void {
    this.#own.remove(key);
    this.#others.tell("remove", key);
  }

  /** Resolves when no worker has a response with one of the tags. */
  async invalidate(tags: readonly string[]): Promise<number> {
    const dropped = this.#own.invalidate(tags);
    if (tags.length === 0) return dropped;
    return dropped + (await this.#others.ask("invalidate", [...tags]));
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
