/**
 * Aggregate functions. Over a to-many relation (`count("books")`), each is a separate subquery, so that several do
 * not multiply one another. In groups it is over the related rows of all rows of the group.
 */

import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { CallNode, ExpressionNode, OrderNode } from "../nodes.js";
import { type Argument, FunctionCall, isOrder, orderNode, type PathRef, pathOrNode } from "./expression.js";
import type { Numbers } from "./q.js";

const distinctFields = {
  /** True takes equal values once. Default false. */
  distinct: option(is.boolean, false),
};

const distinctOptions = options("count()", distinctFields);

interface Distinct extends OptionsOf<typeof distinctOptions.fields> {}

/** The number of rows, or of rows in which the expression is not null. */
export function count(): FunctionCall<number>;
export function count<const P extends string, X = never>(
  of: Argument<P, X>,
  options?: Distinct,
): FunctionCall<number, P, X>;
export function count(of?: Argument<string, unknown>, options?: Distinct): FunctionCall<number, string, unknown> {
  return aggregate("count", of === undefined ? [] : [of], { result: "integer", ...distinctIn("count()", options) });
}

/** The sum; null without rows. A sum of 64-bit integers is a bigint, of decimals a string. */
export function sum<const P extends string, X = Numbers<P>>(
  of: Argument<P, X>,
  options?: Distinct,
): FunctionCall<PathRef<P> | null, P, X> {
  return aggregate("sum", [of], { result: "sum", ...distinctIn("sum()", options) });
}

export function avg<const P extends string, X = Numbers<P>>(
  of: Argument<P, X>,
  options?: Distinct,
): FunctionCall<number | null, P, X> {
  return aggregate("avg", [of], { result: "float", ...distinctIn("avg()", options) });
}

function distinctIn(call: string, given: Distinct | undefined): Pick<CallNode, "distinct"> | undefined {
  return given === undefined ? undefined : distinctOptions.readGiven([given], call);
}

/** An aggregate of one field or expression: with a result of its type, or of another one. */
type SameType = <const P extends string, X = never>(of: Argument<P, X>) => FunctionCall<PathRef<P> | null, P, X>;
type Unary<T> = <const P extends string, X = never>(of: Argument<P, X>) => FunctionCall<T | null, P, X>;

export const min: SameType = (of) => aggregate("min", [of]);
export const max: SameType = (of) => aggregate("max", [of]);

/** The most frequent value; the smallest of several. */
export const mode: SameType = (of) => aggregate("mode", [of], { withinGroup: true });

export const boolAnd: Unary<boolean> = (of) => aggregate("bool_and", [of], { result: "boolean" });
export const boolOr: Unary<boolean> = (of) => aggregate("bool_or", [of], { result: "boolean" });

const populationOptions = options("stddev()", {
  /** True if the rows are all there are, not a sample of them. Default false. */
  population: option(is.boolean, false),
});

interface Population extends OptionsOf<typeof populationOptions.fields> {}

type Spread = <const P extends string, X = Numbers<P>>(
  of: Argument<P, X>,
  options?: Population,
) => FunctionCall<number | null, P, X>;

/** The standard deviation of a sample; null for one row. With `population`, that of all rows. */
export const stddev: Spread = (of, options) =>
  aggregate(ofPopulation("stddev()", options) ? "stddev_pop" : "stddev", [of], { result: "float" });

/** The variance of a sample; null for one row. With `population`, that of all rows. */
export const variance: Spread = (of, options) =>
  aggregate(ofPopulation("variance()", options) ? "var_pop" : "variance", [of], { result: "float" });

function ofPopulation(call: string, given: Population | undefined): boolean {
  return given !== undefined && populationOptions.read([given], call).population;
}

/** The value below which a fraction of the rows lies, interpolated: `percentile(0.95, "duration")`. */
export function percentile<const P extends string, X = Numbers<P>>(
  fraction: number,
  of: Argument<P, X>,
): FunctionCall<number | null, P, X> {
  return percentileCall("percentile_cont", fraction, of, "float");
}

/** The first value at or above a fraction of the rows. It is the value of a row, of any type that has an order. */
export function percentileDisc<const P extends string, X = never>(
  fraction: number,
  of: Argument<P, X>,
): FunctionCall<PathRef<P> | null, P, X> {
  return percentileCall("percentile_disc", fraction, of);
}

/** The value in the middle, interpolated between two. */
export function median<const P extends string, X = Numbers<P>>(of: Argument<P, X>): FunctionCall<number | null, P, X> {
  return percentile(0.5, of);
}

function percentileCall<T, P extends string, X>(
  name: string,
  fraction: number,
  of: Argument<P, X>,
  result?: CallNode["result"],
): FunctionCall<T, P, X> {
  if (typeof fraction !== "number" || !(fraction >= 0 && fraction <= 1))
    throw new ValueError("the fraction of a percentile must be a number from 0 to 1");
  const call = aggregate<T, P, X>(name, [of], { withinGroup: true, ...(result ? { result } : {}) });
  const share: ExpressionNode = {
    type: "cast",
    expression: { type: "value", value: fraction },
    sqlType: "double precision",
  };
  return new FunctionCall({ ...call.node, args: [...call.node.args, share] });
}

type OfPairs = <const P extends string, X = never>(
  y: Argument<P, X>,
  x: Argument<P, X>,
) => FunctionCall<number | null, P, X>;

/** The correlation of two fields, from -1 to 1. */
export const corr: OfPairs = (y, x) => aggregate("corr", [y, x], { result: "float" });

/** The slope of the line that fits pairs of values best: the change of `y` for each 1 of `x`. */
export const regrSlope: OfPairs = (y, x) => aggregate("regr_slope", [y, x], { result: "float" });

/** The `y` of the line that fits pairs of values best where `x` is 0. */
export const regrIntercept: OfPairs = (y, x) => aggregate("regr_intercept", [y, x], { result: "float" });

const noOrder: readonly OrderNode[] = [];

const orderedOptions = options("arrayAgg()", {
  ...distinctFields,
  /** The order of the values: names of fields, with `-` in front for descending order, or orders. Default: none. */
  orderBy: option.made(is.list(isOrder), (keys) => keys.map(orderNode), noOrder),
});

interface Ordered extends OptionsOf<typeof orderedOptions.fields> {}

export function arrayAgg<const P extends string, X = never>(
  of: Argument<P, X>,
  options?: Ordered,
): FunctionCall<PathRef<P>[] | null, P, X> {
  return aggregate("array_agg", [of], { result: "array", ...orderedIn("arrayAgg()", options) });
}

export function stringAgg<const P extends string, X = never>(
  of: Argument<P, X>,
  separator: string,
  options?: Ordered,
): FunctionCall<string | null, P, X> {
  const more = { result: "text", ...orderedIn("stringAgg()", options) } as const;
  const call = aggregate<string | null, P, X>("string_agg", [of], more);
  return new FunctionCall({ ...call.node, args: [...call.node.args, { type: "value", value: separator }] });
}

function orderedIn(call: string, given: Ordered | undefined): Pick<CallNode, "distinct" | "orderBy"> | undefined {
  return given === undefined ? undefined : orderedOptions.readGiven([given], call);
}

function aggregate<T, P extends string, X>(
  name: string,
  args: readonly Argument<string, unknown>[],
  more: Partial<CallNode> = {},
): FunctionCall<T, P, X> {
  return new FunctionCall<T, P, X>({ ...more, type: "call", name, args: args.map(pathOrNode), aggregate: true });
}
