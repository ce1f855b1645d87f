import { DatabaseError } from "../engines/db/errors.js";

/** Items of one statement. */
const mostItems = 200;

interface Entry<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Writes items together: those that come in one turn of the event loop, or while a statement is under way, share the next
 * statement. An item alone is written at once. If the fault is in the values of an item, only that item fails.
 */
export class Batch<Item, Result> {
  #entries: Entry<Item, Result>[] = [];
  #scheduled = false;

  /** `flush` returns the results in the order of the items. */
  constructor(private readonly flush: (items: readonly Item[]) => Promise<readonly Result[]>) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => this.push(item, resolve, reject));
  }

  /** The same without a promise. */
  push(item: Item, resolve: (result: Result) => void, reject: (error: unknown) => void): void {
    this.#entries.push({ item, resolve, reject });
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#entries.length > 0) {
      await this.#write(this.#entries.splice(0, mostItems));
      await turnEnds();
    }
    this.#scheduled = false;
  }

  async #write(entries: readonly Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await this.flush(entries.map(({ item }) => item));
      entries.forEach(({ resolve }, index) => {
        resolve(results[index]!);
      });
    } catch (error) {
      if (entries.length > 1 && isFaultOfOne(error)) for (const entry of entries) await this.#write([entry]);
      else for (const { reject } of entries) reject(error);
    }
  }
}

/**
 * Callers that have their results often add the next item in the same turn. Without a pause until its end, two groups of
 * callers would take turns without end, each with its own statements.
 */
function turnEnds(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/**
 * True if the server has refused values (data, constraints, limits) or they do not fit into one text. Nothing was written
 * then, so each item can be written alone.
 */
function isFaultOfOne(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return error instanceof DatabaseError && /^(?:22|23|54)/.test(error.sqlstate ?? "");
}
