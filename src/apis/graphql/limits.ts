import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";

const count = is.integer(0, 1_000_000_000);

export const limitOptions = options(
  "option 'limits' of GraphQLConfig",
  {
    /** Nested fields. Default 12. */
    depth: option(count, 12),
    /** Aliases in a document. Default 30. */
    aliases: option(count, 30),
    /** The cost of an operation: 1 for each field, and in a list once for each item that was asked for. Default 5000. */
    complexity: option(count, 5000),
    /** Tokens of a document: names, brackets and values. Default 2000. */
    tokens: option(count, 2000),
    /** Characters of a document. Default 100,000. */
    characters: option(count, 100_000),
    /** Directives in a document. Default 50. */
    directives: option(count, 50),
    /** Deferred fragments and streamed lists of an operation, with `incremental`; further ones are part of the result. Default 100. */
    deferred: option(count, 100),
    /** Operations in one request. Default 0: a list of operations is refused. */
    batch: option(is.integer(0, 1000), 0),
    /** Items that a list counts for if the operation gives no number. Default 10. */
    listSize: option(is.integer(1, 1_000_000), 10),
  },
  { idle: ({ complexity }) => ({ listSize: complexity === 0 && "complexity is 0, so no cost is computed" }) },
);

/** Bounds on the operations of clients. 0 stands for no limit, except for `batch`. */
export interface GraphqlLimits extends OptionsOf<typeof limitOptions.fields> {}
