import { type Checks, is, readOptions } from "../../internal/options.js";

/** Bounds on the operations of clients. 0 stands for no limit, except for `batch`. */
export interface GraphqlLimits {
  /** Nested fields. Default 12. */
  depth?: number;
  /** Aliases in a document. Default 30. */
  aliases?: number;
  /** The cost of an operation: 1 for each field, and in a list once for each item that was asked for. Default 5000. */
  complexity?: number;
  /** Tokens of a document: names, brackets and values. Default 2000. */
  tokens?: number;
  /** Characters of a document. Default 100,000. */
  characters?: number;
  /** Directives in a document. Default 50. */
  directives?: number;
  /** Operations in one request. Default 0: a list of operations is refused. */
  batch?: number;
  /** Items that a list counts for if the operation gives no number. Default 10. */
  listSize?: number;
}

const count = is.integer(0, 1_000_000_000);

const checks: Checks<GraphqlLimits> = {
  depth: count,
  aliases: count,
  complexity: count,
  tokens: count,
  characters: count,
  directives: count,
  batch: is.integer(0, 1000),
  listSize: is.integer(1, 1_000_000),
};

const defaults: Required<GraphqlLimits> = {
  depth: 12,
  aliases: 30,
  complexity: 5000,
  tokens: 2000,
  characters: 100_000,
  directives: 50,
  batch: 0,
  listSize: 10,
};

/** The limits with their defaults. */
export function readLimits(given: unknown): Required<GraphqlLimits> {
  return { ...defaults, ...readOptions<GraphqlLimits>("option 'limits' of GraphQLConfig", given, checks) };
}
