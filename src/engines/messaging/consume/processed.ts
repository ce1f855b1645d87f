import { perProcess } from "../../../pipeline/shared-stores.js";

/**
 * Remembers the ids of handled messages, so that a message that is delivered twice is handled once. The key-value store
 * implements it for all processes; the store below for one.
 */
export interface ProcessedStore {
  /** Claims an id for a handler, for `leaseMs`; "done" if it has been handled, "busy" if a handler has it. */
  begin(id: string, leaseMs: number): Promise<Claim | "done" | "busy">;
}

/** An id that belongs to one handler. Each function resolves to false if the claim has been lost in between. */
export interface Claim {
  /** The message is handled; the id is remembered for `keepMs`. */
  done(keepMs: number): Promise<boolean>;
  /** The message is not handled: others can claim it. */
  release(): Promise<boolean>;
  renew(leaseMs: number): Promise<boolean>;
}

declare module "../../../pipeline/shared-stores.js" {
  interface SharedStores {
    processedMessages: ProcessedStore;
  }
}

interface Entry {
  /** Null for an id that is done. */
  claim: object | null;
  until: number;
}

/** Keeps ids in the memory of the process, at most so many: the oldest are forgotten first. */
export class MemoryProcessedStore implements ProcessedStore {
  readonly [perProcess] = true;
  readonly #entries = new Map<string, Entry>();
  readonly #limit: number;
  readonly #now: () => number;

  constructor(limit = 100_000, now: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  async begin(id: string, leaseMs: number): Promise<Claim | "done" | "busy"> {
    const known = this.#entries.get(id);
    if (known !== undefined && known.until > this.#now()) return known.claim === null ? "done" : "busy";
    const claim = {};
    this.#put(id, { claim, until: this.#now() + leaseMs });
    const mine = () => this.#entries.get(id)?.claim === claim;
    return {
      done: async (keepMs) => {
        if (!mine()) return false;
        this.#put(id, { claim: null, until: this.#now() + keepMs });
        return true;
      },
      release: async () => mine() && this.#entries.delete(id),
      renew: async (nextMs) => {
        if (!mine()) return false;
        this.#put(id, { claim, until: this.#now() + nextMs });
        return true;
      },
    };
  }

  #put(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (this.#entries.size > this.#limit) this.#entries.delete(this.#entries.keys().next().value!);
  }
}
