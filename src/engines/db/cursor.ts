import { ValueError } from "../../kit/value-error.js";
import type { Cursor, Queries } from "./database.js";
import type { CursorSettings } from "./query-options.js";

/** The transaction in which a cursor lives. */
export interface CursorHome {
  readonly queries: Pick<Queries, "execute" | "fetch"> & { cursorName(): string };
  /** Called once; with the error when there was one. */
  close(error?: unknown): Promise<void>;
}

export interface CursorInit {
  /** Called when the first rows are wanted. */
  open(): Promise<CursorHome>;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly options: CursorSettings;
}

/** A cursor on the server (`declare`), read in batches. */
export class ServerCursor<R extends object> implements Cursor<R> {
  readonly #init: CursorInit;
  #name = "";
  #home: Promise<CursorHome> | null = null;
  #rows: R[] = [];
  #at = 0;
  #ended = false;

  constructor(init: CursorInit) {
    this.#init = init;
  }

  async next(): Promise<IteratorResult<R>> {
    if (this.#at >= this.#rows.length) {
      this.#rows = await this.#fetch(this.#init.options.batch);
      this.#at = 0;
      if (this.#rows.length === 0) return { done: true, value: undefined };
    }
    return { done: false, value: this.#rows[this.#at++]! };
  }

  async read(count: number): Promise<R[]> {
    if (!Number.isInteger(count) || count < 1) throw new ValueError("read() takes how many rows, at least 1");
    const held = this.#rows.slice(this.#at, this.#at + count);
    this.#at += held.length;
    return held.length === count ? held : [...held, ...(await this.#fetch(count - held.length))];
  }

  async return(): Promise<IteratorResult<R>> {
    await this.close();
    return { done: true, value: undefined };
  }

  async close(): Promise<void> {
    this.#rows = [];
    if (this.#ended) return;
    this.#ended = true;
    const home = await this.#home;
    if (home === null) return;
    await home.queries.execute(`close ${this.#name}`, [], { prepare: false }).catch(() => {});
    await home.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #fetch(count: number): Promise<R[]> {
    if (this.#ended) return [];
    this.#home ??= this.#open();
    const home = await this.#home;
    try {
      const { signal, timeout } = this.#init.options;
      const rows = await home.queries.fetch<R>(`fetch forward ${count} from ${this.#name}`, [], {
        signal,
        timeout,
        prepare: false,
      });
      if (rows.length < count) await this.close();
      return rows;
    } catch (error) {
      this.#ended = true;
      await home.close(error);
      throw error;
    }
  }

  async #open(): Promise<CursorHome> {
    const { text, values, options } = this.#init;
    const home = await this.#init.open();
    this.#name = home.queries.cursorName();
    try {
      await home.queries.execute(`declare ${this.#name} no scroll cursor for ${text}`, values, {
        signal: options.signal,
        timeout: options.timeout,
        prepare: options.prepare,
      });
      return home;
    } catch (error) {
      this.#ended = true;
      await home.close(error);
      throw error;
    }
  }
}
