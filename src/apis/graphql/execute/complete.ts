import type { GraphQLLeafType, GraphQLOutputType } from "graphql";
import { findPromises, ignorePromises } from "../../../http/json/json-values.js";
import { ValueError } from "../../../kit/value-error.js";
import { inspect, isAbstractType, isLeafType, isListType, isNonNullType, isObjectType } from "../graphql-js.js";
import { markInternal } from "../internal-errors.js";
import { takePromises } from "./abandon.js";
import { ListCompletion } from "./complete-list.js";
import { abstract, object } from "./complete-object.js";
import type { Complete, Selection } from "./plan.js";
import { quoted, scalarOf, scalarText } from "./scalar-text.js";

/** The completion of values of a type. The steps and their messages are those of `execute` of graphql. */
export function completionOf(type: GraphQLOutputType, selection: Selection): Complete {
  if (isNonNullType(type)) return nonNull(completionOf(type.ofType, selection));
  if (isListType(type)) {
    const list = new ListCompletion(type.ofType, completionOf(type.ofType, selection), selection);
    return (run, field, path, info, value) => list.complete(run, field, path, info, value);
  }
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
