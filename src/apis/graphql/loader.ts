import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** Loads the values of many keys at once: a list in the order of the keys, or a map. A key that has none gives null. */
export type Batch<Key, Value, Context> = (
  keys: readonly Key[],
  context: Context,
) => BatchResult<Value> | PromiseLike<BatchResult<Value>>;

export type BatchResult<Value> = readonly (Value | Error | null | undefined)[] | ReadonlyMap<unknown, Value>;

const loaderOptions = declare("loader()", {
  /** Keys in one batch. Default 1000. */
  maxBatch: option(is.integer(1), 1000),
});

export interface LoaderOptions extends OptionsOf<typeof loaderOptions.fields> {}

/** Collects the keys that resolvers ask for and loads them together. Made once; each request has its own values. */
export class Loader<Key, Value, Context> {
  readonly batch: Batch<Key, Value, Context>;
  readonly maxBatch: number;

  constructor(batch: Batch<Key, Value, Context>, options?: LoaderOptions) {
    if (typeof batch !== "function") throw new ValueError("loader() takes a function that loads a list of keys");
    this.batch = batch;
    this.maxBatch = loaderOptions.read([options]).maxBatch;
  }
}

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value | null) => void;
  readonly reject: (error: unknown) => void;
}

/** The values of a loader for one request. */
export class LoadedValues<Key, Value, Context> {
  readonly #known = new Map<Key, Promise<Value | null>>();
  #waiting: Waiting<Key, Value>[] = [];

  constructor(
    private readonly loader: Loader<Key, Value, Context>,
    private readonly context: Context,
  ) {}

  load(key: Key): Promise<Value | null> {
    let value = this.#known.get(key);
    if (value === undefined) {
      value = new Promise((resolve, reject) => {
        this.#waiting.push({ key, resolve, reject });
        // After all promises that are settled now: their callbacks ask for keys too.
        if (this.#waiting.length === 1) void Promise.resolve().then(() => process.nextTick(() => this.#dispatch()));
      });
      this.#known.set(key, value);
    }
    return value;
  }

  /** Forgets a key, after a mutation has changed its value. */
  clear(key: Key): void {
    this.#known.delete(key);
  }

  #dispatch(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < waiting.length; i += this.loader.maxBatch) {
      void this.#run(waiting.slice(i, i + this.loader.maxBatch));
    }
  }

  async #run(batch: readonly Waiting<Key, Value>[]): Promise<void> {
    try {
      const keys = batch.map(({ key }) => key);
      const values = await this.loader.batch(keys, this.context);
      if (Array.isArray(values) && values.length !== keys.length) {
        throw new ValueError(`a loader returned ${values.length} values for ${keys.length} keys`);
      }
      for (const [i, { key, resolve, reject }] of batch.entries()) {
        const value = Array.isArray(values) ? values[i] : (values as ReadonlyMap<Key, Value>).get(key);
        if (value instanceof Error) reject(value);
        else resolve(value ?? null);
      }
    } catch (error) {
      for (const { key, reject } of batch) {
        this.#known.delete(key);
        reject(error);
      }
    }
  }
}
