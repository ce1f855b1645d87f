import type { GraphQLLeafType, GraphQLObjectType, GraphQLOutputType, GraphQLResolveInfo } from "graphql";
import {
  defaultTypeResolver,
  GraphQLBoolean,
  GraphQLError,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  GraphQLString,
  inspect,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "../graphql-js.js";
import { markInternal } from "../internal-errors.js";
import { executeFields, fieldError, isThenable, type Text } from "./execute-fields.js";
import type { Path } from "./path.js";
import type { Complete, FieldPlan, Selection } from "./plan.js";
import { quoted } from "./quoted.js";
import type { Run } from "./run.js";

/**
 * The completion of values of a type. The steps, their order and their messages are those of `execute` of graphql: the
 * results are the same, errors included.
 */
export function completionOf(type: GraphQLOutputType, selection: Selection): Complete {
  if (isNonNullType(type)) return nonNull(completionOf(type.ofType, selection));
  if (isListType(type)) return list(type.ofType, completionOf(type.ofType, selection));
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
  const plain = plainTexts.get(type);
  return (_run, _field, _path, _info, value) => {
    const text = plain?.(value);
    if (text !== undefined) return text;
    if (value === null || value === undefined) return null;
    if (value instanceof Error) throw value;
    let serialized: unknown;
    try {
      serialized = type.serialize(value);
    } catch (error) {
      // The message shows the value, which is the program's own.
      throw markInternal(error);
    }
    if (serialized === null || serialized === undefined) {
      throw new Error(
        `Expected \`${inspect(type)}.serialize(${inspect(value)})\` to return non-nullable value, returned: ${inspect(serialized)}`,
      );
    }
    return typeof serialized === "string" ? quoted(serialized) : JSON.stringify(serialized);
  };
}

const textOfString = (value: unknown): string | undefined => (typeof value === "string" ? quoted(value) : undefined);

/** The texts of values that `serialize` of the built-in scalars returns unchanged. */
const plainTexts = new Map<GraphQLLeafType, (value: unknown) => string | undefined>([
  [GraphQLString, textOfString],
  [GraphQLID, textOfString],
  [GraphQLBoolean, (value) => (value === true ? "true" : value === false ? "false" : undefined)],
  [GraphQLInt, (value) => (typeof value === "number" && (value | 0) === value ? `${value}` : undefined)],
  [GraphQLFloat, (value) => (typeof value === "number" && Number.isFinite(value) ? `${value}` : undefined)],
]);

function list(itemType: GraphQLOutputType, complete: Complete): Complete {
  const required = isNonNullType(itemType);
  const leaves = isLeafType(required ? itemType.ofType : itemType);
  const later = (
    run: Run,
    field: FieldPlan,
    path: Path,
    info: GraphQLResolveInfo | null,
    item: PromiseLike<unknown>,
  ): PromiseLike<unknown> => item.then((resolved) => complete(run, field, path, info, resolved));
  const guarded = (run: Run, field: FieldPlan, path: Path, completed: PromiseLike<unknown>): PromiseLike<unknown> =>
    completed.then(undefined, (error: unknown) => fieldError(run, field, required, path, error));
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
      let completed: unknown;
      if (isThenable(item)) {
        place ??= placeOf(path, index);
        completed = later(run, field, place, info, item);
      } else {
        completed = complete(run, field, place, info, item);
      }
      return isThenable(completed) ? guarded(run, field, place ?? placeOf(path, index), completed) : completed;
    } catch (error) {
      return fieldError(run, field, required, place ?? placeOf(path, index), error);
    }
  };
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    const items = itemsOf(value, field);
    let text = "";
    let pending: unknown[] | null = null;
    try {
      for (let i = 0; i < items.length; i++) {
        const result = completeItem(run, field, path, info, items[i], i);
        if (pending !== null) pending.push(result);
        else if (isThenable(result)) pending = [result];
        else text += i === 0 ? ((result as Text) ?? "null") : `,${(result as Text) ?? "null"}`;
      }
    } catch (error) {
      // The items before this one may be rejected later; nobody awaits them then.
      if (pending !== null) Promise.all(pending).catch(() => {});
      throw error;
    }
    if (pending === null) return `[${text}]`;
    const isFirst = pending.length === items.length;
    return Promise.all(pending).then((results) => {
      const rest = (results as Text[]).map((result) => result ?? "null").join(",");
      return isFirst ? `[${rest}]` : `[${text},${rest}]`;
    });
  };
}

function placeOf(path: Path | undefined, index: number): Path {
  return { prev: path, key: index, typename: undefined };
}

function itemsOf(value: unknown, field: FieldPlan): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || typeof (value as Partial<Iterable<unknown>>)[Symbol.iterator] !== "function") {
    throw new GraphQLError(
      `Expected Iterable, but did not find one for field "${field.parentType.name}.${field.name}".`,
    );
  }
  return Array.from(value as Iterable<unknown>);
}

function object(type: GraphQLObjectType, selection: Selection): Complete {
  let fields: readonly FieldPlan[] | null = null;
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    fields ??= selection.fieldsOf(type);
    if (type.isTypeOf) return checkedObject(run, field, path, info, value, type, fields);
    return executeFields(run, fields, value, path);
  };
}

function checkedObject(
  run: Run,
  field: FieldPlan,
  path: Path | undefined,
  info: GraphQLResolveInfo | null,
  value: unknown,
  type: GraphQLObjectType,
  fields: readonly FieldPlan[],
): unknown {
  const finish = (isIt: boolean): unknown => {
    if (isIt) return executeFields(run, fields, value, path);
    throw markInternal(
      new GraphQLError(`Expected value of type "${type.name}" but got: ${inspect(value)}.`, { nodes: field.nodes }),
    );
  };
  const isIt = type.isTypeOf!(value, run.context, info!);
  return isThenable(isIt) ? isIt.then(finish as (isIt: unknown) => unknown) : finish(isIt);
}

function abstract(type: Extract<GraphQLOutputType, { resolveType?: unknown }>, selection: Selection): Complete {
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    const finish = (name: unknown): unknown => {
      const runtimeType = runtimeTypeOf(run, field, type, name, value);
      const fields = selection.fieldsOf(runtimeType);
      if (runtimeType.isTypeOf) return checkedObject(run, field, path, info, value, runtimeType, fields);
      return executeFields(run, fields, value, path);
    };
    const name = (type.resolveType ?? defaultTypeResolver)(value, run.context, info!, type);
    return isThenable(name) ? name.then(finish) : finish(name);
  };
}

function runtimeTypeOf(
  run: Run,
  field: FieldPlan,
  type: Extract<GraphQLOutputType, { resolveType?: unknown }>,
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
