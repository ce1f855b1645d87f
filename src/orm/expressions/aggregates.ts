/**
 * Aggregate functions. Over a to-many relation (`count("books")`), each is a subquery of its own, so that several do
 * not multiply one another. Grouped queries join the relation instead.
 */

import type { CallNode } from "../nodes.js";
import { type Expression, FunctionCall, type Ordering, orderNode, type PathRef, pathOrNode } from "./expression.js";

type Of<P extends string> = P | Expression<unknown, P>;
interface Distinct {
  readonly distinct?: boolean;
}

/** The number of rows, or of rows in which the expression is not null. */
export function count<const P extends string = never>(of?: Of<P>, options: Distinct = {}): FunctionCall<number, P> {
  return aggregate("count", of === undefined ? [] : [of], { result: "integer", ...options });
}

/** The sum; null without rows. A sum of 64-bit integers is a bigint, of decimals a string. */
export function sum<const P extends string>(of: Of<P>, options: Distinct = {}): FunctionCall<PathRef<P> | null, P> {
  return aggregate("sum", [of], { result: "sum", ...options });
}

export function avg<const P extends string>(of: Of<P>, options: Distinct = {}): FunctionCall<number | null, P> {
  return aggregate("avg", [of], { result: "float", ...options });
}

export function min<const P extends string>(of: Of<P>): FunctionCall<PathRef<P> | null, P> {
  return aggregate("min", [of]);
}

export function max<const P extends string>(of: Of<P>): FunctionCall<PathRef<P> | null, P> {
  return aggregate("max", [of]);
}

export function stddev<const P extends string>(of: Of<P>): FunctionCall<number | null, P> {
  return aggregate("stddev", [of], { result: "float" });
}

export function variance<const P extends string>(of: Of<P>): FunctionCall<number | null, P> {
  return aggregate("variance", [of], { result: "float" });
}

export function boolAnd<const P extends string>(of: Of<P>): FunctionCall<boolean | null, P> {
  return aggregate("bool_and", [of], { result: "boolean" });
}

export function boolOr<const P extends string>(of: Of<P>): FunctionCall<boolean | null, P> {
  return aggregate("bool_or", [of], { result: "boolean" });
}

interface Ordered extends Distinct {
  readonly orderBy?: readonly (string | Ordering<string>)[];
}

export function arrayAgg<const P extends string>(
  of: Of<P>,
  options: Ordered = {},
): FunctionCall<PathRef<P>[] | null, P> {
  return aggregate("array_agg", [of], { result: "array", ...ordered(options) });
}

export function stringAgg<const P extends string>(
  of: Of<P>,
  separator: string,
  options: Ordered = {},
): FunctionCall<string | null, P> {
  const call = aggregate<string | null, P>("string_agg", [of], { result: "text", ...ordered(options) });
  return new FunctionCall({ ...call.node, args: [...call.node.args, { type: "value", value: separator }] });
}

function ordered(options: Ordered): Pick<CallNode, "distinct" | "orderBy"> {
  return {
    ...(options.distinct === undefined ? {} : { distinct: options.distinct }),
    ...(options.orderBy === undefined ? {} : { orderBy: options.orderBy.map(orderNode) }),
  };
}

function aggregate<T, P extends string>(
  name: string,
  args: readonly (string | Expression<unknown, string>)[],
  more: Partial<CallNode> = {},
): FunctionCall<T, P> {
  return new FunctionCall<T, P>({ ...more, type: "call", name, args: args.map(pathOrNode), aggregate: true });
}
