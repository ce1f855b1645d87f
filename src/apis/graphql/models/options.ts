import { type Guard, isGuard } from "../../../guards/guard.js";
import { checkedOptions } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import type { ModelMeta } from "../../../orm/meta.js";
import type { GraphqlContext } from "../context.js";

/** A model class that can become a type. */
export interface ExposableModel {
  new (...given: never[]): object;
  readonly meta: ModelMeta;
  readonly objects: { using(db: never): unknown };
}

export interface ModelTypeOptions<Row = object> {
  /** The name of the type. Default: that of the class. */
  name?: string;
  /** The columns and relations to show. Default: all that are not hidden, and relations to models that have a type. */
  fields?: readonly (keyof Row & string)[];
  /** Columns that clients can filter by. Default: all that are shown. */
  filters?: readonly (keyof Row & string)[];
  /** Columns that clients can order by; they must not be nullable. Default: all of those that are shown. */
  orders?: readonly (keyof Row & string)[];
  /** The rows that a client may see. It applies to relations that lead to the model, too. Default: all. */
  // biome-ignore lint/suspicious/noExplicitAny: the condition is checked against the model when the query is compiled.
  visible?: (context: GraphqlContext) => Readonly<Record<string, any>> | Promise<Readonly<Record<string, any>>>;
  /** Guards of the fields of `Query`. */
  guards?: readonly Guard[];
  /** The names of the fields of `Query`, one row and pages; false for none. Default: from the name, `book` and `books`. */
  query?: readonly [one: string, many: string] | false;
  /** Rows of a page at most. Default 100. */
  maxPage?: number;
}

const readOptions = checkedOptions<ModelTypeOptions>({
  name: is.text,
  fields: is.strings,
  filters: is.strings,
  orders: is.strings,
  visible: is.function,
  guards: is.list((value) => (isGuard(value) ? undefined : "a guard")),
  query: is.either(is.oneOf(false), (value) =>
    is.strings(value) === undefined && (value as string[]).length === 2 ? undefined : "a list of two names",
  ),
  maxPage: is.integer(1, 10_000),
});

export function readModelOptions(model: string, given: unknown): ModelTypeOptions<object> {
  return readOptions(`graphql.model(${model})`, given);
}
