/** Gets the ids of sessions or tokens that end. */
export interface EndingListener {
  ended(id: string): void;
  /** Messages were lost: any of them may have ended. */
  gap(): void;
}

/** A store of sessions or of revoked tokens that reports what ends in any of the processes that share it. */
export interface EndingSource {
  watch?(listener: EndingListener): void;
}

interface Open {
  /** It ends with any of them. */
  readonly ids: readonly string[];
  readonly isValid: () => boolean | Promise<boolean>;
  readonly end: () => void;
}

/** Sessions or tokens that the store is asked for at once after a gap. */
const batch = 100;
/** Milliseconds after which a store that failed is asked again. */
const retryAfter = 1000;

/**
 * WebSockets and streams by the session or token that they were opened with, so that they end with it. Holds nothing but
 * what is open.
 */
export class OpenAuthorities {
  readonly #open = new Map<string, Set<Open>>();
  #isListening = false;
  #isChecking = false;
  #hasGap = false;

  /** The source is asked for with the first that is opened. */
  constructor(private readonly source: () => EndingSource) {}

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /**
   * Calls `end` when one of the ids ends. `isValid` asks the store: now, because one may have ended since the request was
   * accepted, and whenever messages of the store were lost. It rejects if the store fails.
   */
  watch(ids: readonly string[], isValid: Open["isValid"], end: () => void): () => void {
    const open: Open = { ids, isValid, end };
    for (const id of ids) {
      const known = this.#open.get(id);
      if (known === undefined) this.#open.set(id, new Set([open]));
      else known.add(open);
    }
    this.#listen();
    void this.#check(open).then((isChecked) => isChecked || this.#checkLater());
    return () => this.#remove(open);
  }

  end(id: string): void {
    for (const open of [...(this.#open.get(id) ?? [])]) if (this.#remove(open)) open.end();
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.source().watch?.({ ended: (id) => this.end(id), gap: () => void this.#checkAll() });
  }

  /** False if the store failed. */
  async #check(open: Open): Promise<boolean> {
    try {
      if ((await open.isValid()) || !this.#remove(open)) return true;
    } catch {
      return false;
    }
    open.end();
    return true;
  }

  async #checkAll(): Promise<void> {
    this.#hasGap = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    while (this.#hasGap) {
      this.#hasGap = false;
      const all = [...new Set([...this.#open.values()].flatMap((some) => [...some]))];
      for (let i = 0; i < all.length; i += batch) {
        const checked = await Promise.all(all.slice(i, i + batch).map((open) => this.#check(open)));
        if (checked.every(Boolean)) continue;
        this.#checkLater();
        break;
      }
    }
    this.#isChecking = false;
  }

  #checkLater(): void {
    if (!this.isEmpty) setTimeout(() => void this.#checkAll(), retryAfter).unref();
  }

  /** False if it had ended. */
  #remove(open: Open): boolean {
    let isRemoved = false;
    for (const id of open.ids) {
      const all = this.#open.get(id);
      isRemoved = all?.delete(open) ?? false;
      if (all?.size === 0) this.#open.delete(id);
    }
    return isRemoved;
  }
}
