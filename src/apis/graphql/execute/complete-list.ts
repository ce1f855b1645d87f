import type { GraphQLOutputType, GraphQLResolveInfo } from "graphql";
import { isAsyncIterable } from "../../../http/sse.js";
import { GraphQLError, getDirectiveValues, isLeafType, isNonNullType } from "../graphql-js.js";
import { abandon } from "./abandon.js";
import { isThenable } from "./execute-fields.js";
import { fieldError } from "./field-error.js";
import { streamDirective } from "./incremental-directives.js";
import { completeLater, Later, LaterList, LaterValue, type Text } from "./later.js";
import type { Path } from "./path.js";
import type { Complete, FieldPlan, Run, Selection, StreamedPart } from "./plan.js";

/** The completion of lists, with `@stream` in parts. */
export class ListCompletion {
  readonly #itemType: GraphQLOutputType;
  readonly #completeItem: Complete;
  readonly #selection: Selection;
  readonly #required: boolean;
  readonly #leaves: boolean;

  constructor(itemType: GraphQLOutputType, completeItem: Complete, selection: Selection) {
    this.#itemType = itemType;
    this.#completeItem = completeItem;
    this.#selection = selection;
    this.#required = isNonNullType(itemType);
    this.#leaves = isLeafType(isNonNullType(itemType) ? itemType.ofType : itemType);
  }

  complete(
    run: Run,
    field: FieldPlan,
    path: Path | undefined,
    info: GraphQLResolveInfo | null,
    value: unknown,
  ): unknown {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    // The inner one of two lists has the place of an item.
    if (run.parts !== null && field.streamed && typeof path!.key === "string") {
      try {
        const first = this.#streamed(run, field, path!, info, value as object);
        if (first !== undefined) return first;
      } catch (error) {
        // Of the arguments of the directive, before an item is looked at.
        if (Array.isArray(value)) this.#abandon(run, value, 0);
        throw error;
      }
    }
    if (isAsyncIterable(value)) {
      return new LaterValue(run, firstItems(run, value[Symbol.asyncIterator](), Infinity), (all) =>
        this.#all(run, field, path, info, (all as Awaited<ReturnType<typeof firstItems>>).items),
      );
    }
    return this.#all(run, field, path, info, this.#itemsOf(run, field, value));
  }

  #all(
    run: Run,
    field: FieldPlan,
    path: Path | undefined,
    info: GraphQLResolveInfo | null,
    items: readonly unknown[],
  ): unknown {
    let text = "";
    let pending: LaterList | null = null;
    for (let i = 0; i < items.length; i++) {
      let result: unknown;
      try {
        result = this.#item(run, field, path, info, items[i], i);
      } catch (error) {
        // The items before it that come later are dropped.
        this.#abandon(run, items, i);
        throw error;
      }
      if (pending !== null) pending.push(result);
      else if (result instanceof Later) {
        pending = new LaterList(run, i === 0 ? "" : `${text},`);
        pending.push(result);
      } else text += i === 0 ? ((result as Text) ?? "null") : `,${(result as Text) ?? "null"}`;
    }
    return pending ?? `[${text}]`;
  }

  #item(
    run: Run,
    field: FieldPlan,
    path: Path | undefined,
    info: GraphQLResolveInfo | null,
    item: unknown,
    index: number,
  ): unknown {
    let place = this.#leaves ? undefined : placeOf(path, index);
    try {
      const completed = isThenable(item)
        ? completeLater(run, field, this.#completeItem, (place ??= placeOf(path, index)), info, item)
        : this.#completeItem(run, field, place, info, item);
      return completed instanceof Later
        ? completed.at(field, this.#required, place ?? placeOf(path, index))
        : completed;
    } catch (error) {
      return fieldError(run, field, this.#required, place ?? placeOf(path, index), error);
    }
  }

  /** The first items of a list with `@stream`, with the others left for later; undefined if the list is no such one. */
  #streamed(run: Run, field: FieldPlan, path: Path, info: GraphQLResolveInfo | null, value: object): unknown {
    const given = getDirectiveValues(streamDirective, field.nodes[0]!, run.variables);
    if (!given || given["if"] === false || !run.parts!.take()) return undefined;
    const count = given["initialCount"] as number;
    if (count < 0) throw new GraphQLError("initialCount of @stream must not be negative.", { nodes: field.nodes });
    const label = (given["label"] as string | null | undefined) ?? null;
    const complete: StreamedPart["complete"] = (other, item, at) => this.#item(other, field, path, info, item, at);
    const addRest = (items: StreamedPart["items"], index: number): void =>
      run.parts!.add({ kind: "stream", label, path, field, items, complete, index });
    if (isAsyncIterable(value)) {
      const iterator = value[Symbol.asyncIterator]();
      return new LaterValue(run, firstItems(run, iterator, count), (first) => {
        const { items, done } = first as Awaited<ReturnType<typeof firstItems>>;
        if (!done) addRest(iterator, items.length);
        return this.#all(run, field, path, info, items);
      });
    }
    const items = this.#itemsOf(run, field, value);
    if (items.length > count) {
      this.#abandon(run, items, count);
      addRest(items.slice(count)[Symbol.iterator](), count);
    }
    return this.#all(run, field, path, info, items.slice(0, count));
  }

  #itemsOf(run: Run, field: FieldPlan, value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (typeof value !== "object" || typeof (value as Partial<Iterable<unknown>>)[Symbol.iterator] !== "function") {
      throw new GraphQLError(
        `Expected Iterable, but did not find one for field "${field.parentType.name}.${field.name}".`,
      );
    }
    const items: unknown[] = [];
    try {
      for (const item of value as Iterable<unknown>) items.push(item);
    } catch (error) {
      this.#abandon(run, items, 0);
      throw error;
    }
    return items;
  }

  #abandon(run: Run, items: readonly unknown[], start: number): void {
    for (let i = start; i < items.length; i++) abandon(run, this.#itemType, this.#selection, items[i]);
  }
}

/** Reads items until the client leaves: a source may have no end. */
async function firstItems(
  run: Run,
  iterator: AsyncIterator<unknown>,
  count: number,
): Promise<{ readonly items: readonly unknown[]; readonly done: boolean }> {
  const items: unknown[] = [];
  const { signal } = (run.context ?? {}) as { readonly signal?: AbortSignal };
  while (items.length < count) {
    if (signal?.aborted) {
      await iterator.return?.();
      throw signal.reason;
    }
    const { done, value } = await iterator.next();
    if (done) return { items, done: true };
    items.push(value);
    // A source that never waits would let nothing else run.
    if (items.length % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return { items, done: false };
}

function placeOf(path: Path | undefined, index: number): Path {
  return { prev: path, key: index, typename: undefined };
}
