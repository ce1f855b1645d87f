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
  /** The fields of `Mutation` to write rows: `true`, or their options. Default: none. */
  mutations?: {
    /** `createBook(input)`. */
    create?: boolean | MutationOptions<Row>;
    /** `updateBook(id, input)`, with the version that the client has read if the type shows one. */
    update?: boolean | MutationOptions<Row>;
    /** `deleteBook(id)`. */
    delete?: boolean | Pick<MutationOptions<Row>, "name" | "guards">;
  };
}

export interface MutationOptions<Row = object> {
  /** The name of the field. Default: `createBook` and the like. */
  name?: string;
  /** Guards of this field, after those of the model. */
  guards?: readonly Guard[];
  /** The columns of the input. Default: all that are shown and that clients may send in a body. */
  fields?: readonly (keyof Row & string)[];
  /** Values that the application sets, over those of the client: the user who owns the row, for example. */
  values?: (context: GraphqlContext) => Partial<Row> | Promise<Partial<Row>>;
}

const areGuards = is.list((value) => (isGuard(value) ? undefined : "a guard"));

const readMutation = checkedOptions<MutationOptions>({
  name: is.text,
  guards: areGuards,
  fields: is.strings,
  values: is.function,
});

const isMutation = is.either(is.boolean, is.object);
const readMutations = checkedOptions<NonNullable<ModelTypeOptions["mutations"]>>({
  create: isMutation,
  update: isMutation,
  delete: isMutation,
});

const readOptions = checkedOptions<ModelTypeOptions>({
  name: is.text,
  fields: is.strings,
  filters: is.strings,
  orders: is.strings,
  visible: is.function,
  guards: areGuards,
  query: is.either(is.oneOf(false), (value) =>
    is.strings(value) === undefined && (value as string[]).length === 2 ? undefined : "a list of two names",
  ),
  maxPage: is.integer(1, 10_000),
  mutations: is.object,
});

export function readModelOptions(model: string, given: unknown): ModelTypeOptions<object> {
  const options = readOptions(`graphql.model(${model})`, given);
  readModelMutations(model, options.mutations);
  return options;
}

export type MutationKind = "create" | "update" | "delete";

/** The mutations of a model that its options name, with their options. */
export function readModelMutations(
  model: string,
  given: ModelTypeOptions["mutations"],
): readonly (readonly [MutationKind, MutationOptions])[] {
  const place = `option 'mutations' of graphql.model(${model})`;
  const read = readMutations(place, given ?? {});
  return (["create", "update", "delete"] as const).flatMap((kind) => {
    const options = read[kind];
    if (!options) return [];
    return [[kind, readMutation(`'${kind}' in ${place}`, options === true ? {} : options)] as const];
  });
}
