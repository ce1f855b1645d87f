import type { GraphQLLeafType, GraphQLObjectType, GraphQLOutputType, GraphQLResolveInfo } from "graphql";
import { findPromises, ignorePromises } from "../../../http/json/json-values.js";
import { ValueError } from "../../../kit/value-error.js";
import {
  defaultTypeResolver,
  GraphQLError,
  getDirectiveValues,
  inspect,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "../graphql-js.js";
import { markInternal } from "../internal-errors.js";
import { abandon, abandonField, leaveRest, takePromises } from "./abandon.js";
import { executeFields, isThenable } from "./execute-fields.js";
import { fieldError } from "./field-error.js";
import { streamDirective } from "./incremental-directives.js";
import { completeLater, Later, LaterList, LaterValue, type Text } from "./later.js";
import type { Path } from "./path.js";
import type { Complete, FieldPlan, Run, Selection, StreamedPart } from "./plan.js";
import { quoted, scalarOf, scalarText } from "./scalar-text.js";

/** The completion of values of a type. The steps and their messages are those of `execute` of graphql. */
export function completionOf(type: GraphQLOutputType, selection: Selection): Complete {
  if (isNonNullType(type)) return nonNull(completionOf(type.ofType, selection));
  if (isListType(type)) return list(type.ofType, completionOf(type.ofType, selection), selection);
  if (isLeafType(type)) return leaf(type);
  if (isAbstractType(type)) return abstract(type, selection);
  return object(type, selection);
}

/** True if the completion of a type calls functions that take `info`. */
export function needsInfo(type: GraphQLOutputType): boolean {
  if (isNonNullType(type) || isListType(type)) return needsInfo(type.ofType);
  return isAbstractType(type) || (isObjectType(type) && type.isTypeOf !== undefined && type.isTypeOf !== null);
}

function nonNull(inner: Complete): Complete {
  return (run, field, path, info, value) => {
    const completed = inner(run, field, path, info, value);
    if (completed === null) {
      throw new Error(`Cannot return null for non-nullable field ${field.parentType.name}.${field.name}.`);
    }
    return completed;
  };
}

function leaf(type: GraphQLLeafType): Complete {
  const scalar = scalarOf(type);
  return (_run, _field, _path, _info, value) => {
    const text = scalarText(scalar, value);
    if (text !== undefined) return text;
    if (value === null || value === undefined) return null;
    if (value instanceof Error) throw value;
    let serialized: unknown;
    try {
      serialized = type.serialize(value);
    } catch (error) {
      takePromises(value);
      // The message shows the value, which is the program's own.
      throw markInternal(error);
    }
    if (serialized === null || serialized === undefined) {
      throw new Error(
        `Expected \`${inspect(type)}.serialize(${inspect(value)})\` to return non-nullable value, returned: ${inspect(serialized)}`,
      );
    }
    if (typeof serialized === "string") return quoted(serialized);
    refusePromises(serialized);
    return JSON.stringify(serialized);
  };
}

/** JSON.stringify would write a promise as `{}`. */
function refusePromises(serialized: unknown): void {
  if (typeof serialized !== "object") return;
  const { pending } = findPromises(serialized);
  if (pending.length === 0) return;
  ignorePromises(pending);
  throw new ValueError(`${pending[0]!.path} is a promise or a queryset, which a scalar cannot hold`);
}

function list(itemType: GraphQLOutputType, complete: Complete, selection: Selection): Complete {
  const required = isNonNullType(itemType);
  const leaves = isLeafType(required ? itemType.ofType : itemType);
  const completeItem = (
    run: Run,
    field: FieldPlan,
    path: Path | undefined,
    info: GraphQLResolveInfo | null,
    item: unknown,
    index: number,
  ): unknown => {
    let place = leaves ? undefined : placeOf(path, index);
    try {
      const completed = isThenable(item)
        ? completeLater(run, field, complete, (place ??= placeOf(path, index)), info, item)
        : complete(run, field, place, info, item);
      return completed instanceof Later ? completed.at(field, required, place ?? placeOf(path, index)) : completed;
    } catch (error) {
      return fieldError(run, field, required, place ?? placeOf(path, index), error);
    }
  };
  const completeAll = (
    run: Run,
    field: FieldPlan,
    path: Path | undefined,
    info: GraphQLResolveInfo | null,
    items: readonly unknown[],
  ): unknown => {
    let text = "";
    let pending: LaterList | null = null;
    for (let i = 0; i < items.length; i++) {
      let result: unknown;
      try {
        result = completeItem(run, field, path, info, items[i], i);
      } catch (error) {
        // The items before it that come later are dropped.
        abandonItems(run, itemType, selection, items, i);
        throw error;
      }
      if (pending !== null) pending.push(result);
      else if (result instanceof Later) {
        pending = new LaterList(run, i === 0 ? "" : `${text},`);
        pending.push(result);
      } else text += i === 0 ? ((result as Text) ?? "null") : `,${(result as Text) ?? "null"}`;
    }
    return pending ?? `[${text}]`;
  };
  /** The first items of a list with `@stream`, with the others left for later; undefined if the list is no such one. */
  const streamed = (
    run: Run,
    field: FieldPlan,
    path: Path,
    info: GraphQLResolveInfo | null,
    value: object,
  ): unknown => {
    const given = getDirectiveValues(streamDirective, field.nodes[0]!, run.variables);
    if (!given || given["if"] === false || !run.parts!.take()) return undefined;
    const count = given["initialCount"] as number;
    if (count < 0) throw new GraphQLError("initialCount of @stream must not be negative.", { nodes: field.nodes });
    const label = (given["label"] as string | null | undefined) ?? null;
    const partOf = (rest: StreamedPart["items"], index: number): StreamedPart => {
      const completeOne = (other: Run, item: unknown, at: number): unknown =>
        completeItem(other, field, path, info, item, at);
      return { kind: "stream", label, path, field, items: rest, complete: completeOne, index };
    };
    if (isAsyncIterable(value)) {
      const iterator = value[Symbol.asyncIterator]();
      return new LaterValue(run, firstItems(run, iterator, count), (first) => {
        const { items, done } = first as Awaited<ReturnType<typeof firstItems>>;
        if (!done) run.parts!.add(partOf(iterator, items.length));
        return completeAll(run, field, path, info, items);
      });
    }
    const items = itemsOf(run, field, itemType, selection, value);
    if (items.length > count) {
      abandonItems(run, itemType, selection, items, count);
      run.parts!.add(partOf(items.slice(count)[Symbol.iterator](), count));
    }
    return completeAll(run, field, path, info, items.slice(0, count));
  };
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    // The inner one of two lists has the place of an item.
    if (run.parts !== null && field.streamed && typeof path!.key === "string") {
      try {
        const first = streamed(run, field, path!, info, value as object);
        if (first !== undefined) return first;
      } catch (error) {
        // Of the arguments of the directive, before an item is looked at.
        if (Array.isArray(value)) abandonItems(run, itemType, selection, value, 0);
        throw error;
      }
    }
    if (isAsyncIterable(value)) {
      return new LaterValue(run, firstItems(run, value[Symbol.asyncIterator](), Infinity), (all) =>
        completeAll(run, field, path, info, (all as Awaited<ReturnType<typeof firstItems>>).items),
      );
    }
    return completeAll(run, field, path, info, itemsOf(run, field, itemType, selection, value));
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
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

function itemsOf(
  run: Run,
  field: FieldPlan,
  itemType: GraphQLOutputType,
  selection: Selection,
  value: unknown,
): readonly unknown[] {
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
    abandonItems(run, itemType, selection, items, 0);
    throw error;
  }
  return items;
}

function abandonItems(
  run: Run,
  itemType: GraphQLOutputType,
  selection: Selection,
  items: readonly unknown[],
  start: number,
): void {
  for (let i = start; i < items.length; i++) abandon(run, itemType, selection, items[i]);
}

function object(type: GraphQLObjectType, selection: Selection): Complete {
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    if (type.isTypeOf) return checkedObject(run, field, path, info, value, type, selection);
    return executeObject(run, type, selection, value, path);
  };
}

/** The fields of an object. Those of deferred fragments are left for later, if the client takes them and there is room. */
function executeObject(
  run: Run,
  type: GraphQLObjectType,
  selection: Selection,
  value: unknown,
  path: Path | undefined,
  known: readonly FieldPlan[] | null = null,
): unknown {
  const fields =
    known ??
    (run.parts === null ? selectedFields(run, type, selection, value) : splitFields(run, type, selection, value, path));
  leaveRest(run, fields, selection, value);
  return executeFields(run, fields, value, path);
}

/** The fields to execute now. */
export function splitFields(
  run: Run,
  type: GraphQLObjectType,
  selection: Selection,
  source: unknown,
  path: Path | undefined,
): readonly FieldPlan[] {
  const { fields, deferred } = selected(run, type, selection, source, () => selection.splitOf(run, type));
  if (deferred.length === 0) return fields;
  const now = [...fields];
  for (const { label, fields: later } of deferred) {
    if (run.parts!.take()) {
      // A promise that is rejected before it is looked at ends the process.
      for (const field of later) abandonField(run, field, source);
      run.parts!.add({ kind: "defer", label, path, fields: later, source });
    } else now.push(...later);
  }
  return now;
}

function checkedObject(
  run: Run,
  field: FieldPlan,
  path: Path | undefined,
  info: GraphQLResolveInfo | null,
  value: unknown,
  type: GraphQLObjectType,
  selection: Selection,
): unknown {
  const fields = run.parts === null ? selectedFields(run, type, selection, value) : null;
  return decided(
    run,
    type,
    selection,
    value,
    () => type.isTypeOf!(value, run.context, info!),
    (isIt) => {
      if (isIt) return executeObject(run, type, selection, value, path, fields);
      throw markInternal(
        new GraphQLError(`Expected value of type "${type.name}" but got: ${inspect(value)}.`, { nodes: field.nodes }),
      );
    },
  );
}

function abstract(type: AbstractType, selection: Selection): Complete {
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    const decide = (): unknown => (type.resolveType ?? defaultTypeResolver)(value, run.context, info!, type);
    return decided(run, type, selection, value, decide, (name) => {
      const runtimeType = runtimeTypeOf(run, field, type, name, value);
      if (runtimeType.isTypeOf) return checkedObject(run, field, path, info, value, runtimeType, selection);
      return executeObject(run, runtimeType, selection, value, path);
    });
  };
}

function selectedFields(run: Run, type: GraphQLObjectType, selection: Selection, value: unknown): readonly FieldPlan[] {
  return selected(run, type, selection, value, () => selection.fieldsOf(run, type));
}

function selected<T>(run: Run, type: GraphQLObjectType, selection: Selection, value: unknown, select: () => T): T {
  try {
    return select();
  } catch (error) {
    abandon(run, type, selection, value);
    throw error;
  }
}

/** Completes a value after a decision about its type. Meanwhile, and if there is none, nobody waits for its members. */
function decided(
  run: Run,
  type: GraphQLOutputType,
  selection: Selection,
  value: unknown,
  decide: () => unknown,
  finish: (decision: unknown) => unknown,
): unknown {
  try {
    const decision = decide();
    if (!isThenable(decision)) return finish(decision);
    abandon(run, type, selection, value);
    return new LaterValue(run, decision, finish);
  } catch (error) {
    abandon(run, type, selection, value);
    throw error;
  }
}

type AbstractType = Extract<GraphQLOutputType, { resolveType?: unknown }>;

function runtimeTypeOf(
  run: Run,
  field: FieldPlan,
  type: AbstractType,
  name: unknown,
  value: unknown,
): GraphQLObjectType {
  const place = `field "${field.parentType.name}.${field.name}"`;
  if (name === null || name === undefined) {
    throw new GraphQLError(
      `Abstract type "${type.name}" must resolve to an Object type at runtime for ${place}. Either the "${type.name}" type should provide a "resolveType" function or each possible type should provide an "isTypeOf" function.`,
      { nodes: field.nodes },
    );
  }
  if (isObjectType(name)) {
    throw new GraphQLError(
      "Support for returning GraphQLObjectType from resolveType was removed in graphql-js@16.0.0 please return type name instead.",
    );
  }
  if (typeof name !== "string") {
    throw markInternal(
      new GraphQLError(
        `Abstract type "${type.name}" must resolve to an Object type at runtime for ${place} with value ${inspect(value)}, received "${inspect(name)}".`,
      ),
    );
  }
  const runtimeType = run.schema.getType(name);
  const { nodes } = field;
  if (!runtimeType) {
    throw new GraphQLError(
      `Abstract type "${type.name}" was resolved to a type "${name}" that does not exist inside the schema.`,
      { nodes },
    );
  }
  if (!isObjectType(runtimeType)) {
    throw new GraphQLError(`Abstract type "${type.name}" was resolved to a non-object type "${name}".`, { nodes });
  }
  if (!run.schema.isSubType(type, runtimeType)) {
    throw new GraphQLError(`Runtime Object type "${runtimeType.name}" is not a possible type for "${type.name}".`, {
      nodes,
    });
  }
  return runtimeType;
}
