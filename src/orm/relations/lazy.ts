import { LazyLoadError } from "../errors.js";
import type { presence } from "../fields/types.js";
import type { RelationMeta } from "../meta.js";
import { loadForSiblings } from "../run/load.js";
import { stateOf } from "../run/state.js";

/** A to-one relation that is not loaded. `await` loads it for all instances of the same query at once. */
export interface Lazy<T> extends PromiseLike<T> {
  readonly [presence]: "promised";
}

export class LazyRelation implements PromiseLike<unknown> {
  constructor(
    private readonly instance: object,
    private readonly relation: RelationMeta,
  ) {}

  // biome-ignore lint/suspicious/noThenProperty: the relation is loaded by awaiting it.
  then<A = unknown, B = never>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return loadLazily(this.instance, this.relation).then(onFulfilled, onRejected);
  }

  /** Omits a relation that is not loaded: a promise would be `{}` in JSON. */
  toJSON(): undefined {
    return undefined;
  }
}

export async function loadLazily(instance: object, relation: RelationMeta): Promise<unknown> {
  const { related, siblings } = stateOf(instance);
  if (related?.has(relation.name)) return related.get(relation.name);
  if (siblings?.strict) {
    throw new LazyLoadError(
      `${relation.source.name}.${relation.name} was not loaded: add ${relation.single ? "selectRelated" : "prefetchRelated"}("${relation.name}") to the query`,
    );
  }
  await loadForSiblings(instance, relation);
  return stateOf(instance).related?.get(relation.name);
}
