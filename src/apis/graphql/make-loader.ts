import type { GraphqlContext } from "./context.js";
import { type Batch, Loader, type LoaderOptions } from "./loader.js";

/** Loads the values of many keys at once: a list in the order of the keys, or a map. A key that has none gives null. */
export type BatchFunction<Key, Value> = Batch<Key, Value, GraphqlContext>;

/** Makes a loader: `const authors = loader((ids: readonly number[]) => Author.objects.inBulk(ids))`. */
export function loader<Key, Value>(
  batch: BatchFunction<Key, Value>,
  options?: LoaderOptions,
): Loader<Key, Value, GraphqlContext> {
  return new Loader(batch, options);
}
