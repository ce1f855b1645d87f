/**
 * Aggregate functions. Over a to-many relation (`count("books")`), each is a subquery of its own, so that several do
 * not multiply one another. Grouped queries join the relation instead.
 */

import type { CallNode } from "../nodes.js";
import { type Argument, FunctionCall, type Ordering, orderNode, type PathRef, pathOrNode } from "./expression.js";

interface Distinct {
  readonly distinct?: boolean;
}

/** The number of rows, or of rows in which the expression is not null. */
export function count(): FunctionCall<number>;
export function count<const P extends string, X = never>(
  of: Argument<P, X>,
  options?: Distinct,
): FunctionCall<number, P, X>;
export function count(of?: Argument<string, unknown>, options: Distinct = {}): FunctionCall<number, string, unknown> {
  return aggregate("count", of === undefined ? [] : [of], { result: "integer", ...options });
}

/** The sum; null without rows. A sum of 64-bit integers is a bigint, of decimals a string. */
export function sum<const P extends string, X = never>(
  of: Argument<P, X>,
  options: Distinct = {},
): FunctionCall<PathRef<P> | null, P, X> {
  return aggregate("sum", [of], { result: "sum", ...options });
}

export function avg<const P extends string, X = never>(
  of: Argument<P, X>,
  options: Distinct = {},
): FunctionCall<number | null, P, X> {
  return aggregate("avg", [of], { result: "float", ...options });
}

export function min<const P extends string, X = never>(of: Argument<P, X>): FunctionCall<PathRef<P> | null, P, X> {
  return aggregate("min", [of]);
}

export function max<const P extends string, X = never>(of: Argument<P, X>): FunctionCall<PathRef<P> | null, P, X> {
  return aggregate("max", [of]);
}

export function stddev<const P extends string, X = never>(of: Argument<P, X>): FunctionCall<number | null, P, X> {
  return aggregate("stddev", [of], { result: "float" });
}

export function variance<const P extends string, X = never>(of: Argument<P, X>): FunctionCall<number | null, P, X> {
  return aggregate("variance", [of], { result: "float" });
}

export function boolAnd<const P extends string, X = never>(of: Argument<P, X>): FunctionCall<boolean | null, P, X> {
  return aggregate("bool_and", [of], { result: "boolean" });
}

export function boolOr<const P extends string, X = never>(of: Argument<P, X>): FunctionCall<boolean | null, P, X> {
  return aggregate("bool_or", [of], { result: "boolean" });
}

interface Ordered extends Distinct {
  readonly orderBy?: readonly (string | Ordering<string, unknown>)[];
}

export function arrayAgg<const P extends string, X = never>(
  of: Argument<P, X>,
  options: Ordered = {},
): FunctionCall<PathRef<P>[] | null, P, X> {
  return aggregate("array_agg", [of], { result: "array", ...ordered(options) });
}

export function stringAgg<const P extends string, X = never>(
  of: Argument<P, X>,
  separator: string,
  options: Ordered = {},
): FunctionCall<string | null, P, X> {
  const call = aggregate<string | null, P, X>("string_agg", [of], { result: "text", ...ordered(options) });
  return new FunctionCall({ ...call.node, args: [...call.node.args, { type: "value", value: separator }] });
}

function ordered(options: Ordered): Pick<CallNode, "distinct" | "orderBy"> {
  return {
    ...(options.distinct === undefined ? {} : { distinct: options.distinct }),
    ...(options.orderBy === undefined ? {} : { orderBy: options.orderBy.map(orderNode) }),
  };
}

function aggregate<T, P extends string, X>(
  name: string,
  args: readonly Argument<string, unknown>[],
  more: Partial<CallNode> = {},
): FunctionCall<T, P, X> {
  return new FunctionCall<T, P, X>({ ...more, type: "call", name, args: args.map(pathOrNode), aggregate: true });
}
