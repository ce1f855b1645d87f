import { checkedOptions } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { GraphqlContext } from "./context.js";

/** A parsed document: the `DocumentNode` of graphql, whose types are not named here. */
export interface DocumentLike {
  readonly kind: string;
  readonly definitions: readonly object[];
}

/** A rule of validation, as graphql has them. */
export type ValidationRuleLike = (context: never) => object;

/** An operation that is about to be executed. */
export interface OperationCall {
  readonly type: "query" | "mutation" | "subscription";
  /** The name that the document gives it. */
  readonly name: string | null;
  readonly document: DocumentLike;
  /** The variables, with defaults. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: GraphqlContext;
}

/** A field of the schema that a hook can be compiled into. */
export interface HookedField {
  /** The name of its type. */
  readonly type: string;
  readonly name: string;
  /** False if the value is a property of the parent. */
  readonly hasResolver: boolean;
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** One call of a resolver. The arguments are an object for this call alone, which a hook may change. */
export interface ResolverCall {
  // biome-ignore lint/suspicious/noExplicitAny: parents are typed by the schema.
  readonly parent: any;
  readonly args: Record<string, unknown>;
  readonly context: GraphqlContext;
  // biome-ignore lint/suspicious/noExplicitAny: the `GraphQLResolveInfo` of graphql, whose types are not named here.
  readonly info: any;
}

/** A function around a resolver. `next()` calls it and returns its value, or the promise of one. */
export type ResolverHook = (call: ResolverCall, next: () => unknown) => unknown;

/**
 * Functions around the steps of an operation. Each runs the step with `next()`, and can change what goes in and what comes
 * out. An error that one throws is an error of the operation, in `resolve` of the field.
 */
export interface GraphqlHooks {
  /** Around parsing. Documents are kept: it runs once for each, for all clients, and returns no promise. */
  parse?: (text: string, next: (text?: string) => DocumentLike) => DocumentLike;
  /** Around validation, after each parsing. `next(rules)` adds rules. Returns the errors. */
  validate?: (
    document: DocumentLike,
    next: (rules?: readonly ValidationRuleLike[]) => readonly Error[],
  ) => readonly Error[];
  /** Around each execution: of a query, a mutation, or one event of a subscription. */
  execute?: (
    operation: OperationCall,
    next: () => Promise<GraphqlResult>,
  ) => GraphqlResult | PromiseLike<GraphqlResult>;
  /** Around the start of a subscription. Returns its events. */
  subscribe?: (
    operation: OperationCall,
    next: () => Promise<AsyncIterable<unknown>>,
  ) => AsyncIterable<unknown> | PromiseLike<AsyncIterable<unknown>>;
  /** Called at the start for each field of the schema. The function that it returns is compiled into this field. */
  resolve?: (field: HookedField) => ResolverHook | null | undefined;
}

const readHooks = checkedOptions<GraphqlHooks>({
  parse: is.function,
  validate: is.function,
  execute: is.function,
  subscribe: is.function,
  resolve: is.function,
});

export function asHooks(given: GraphqlHooks | readonly GraphqlHooks[]): readonly GraphqlHooks[] {
  const list = Array.isArray(given) ? (given as readonly GraphqlHooks[]) : [given as GraphqlHooks];
  return list.map((each) => readHooks("option 'hooks' of GraphQLConfig", each));
}

/** The result of an execution. What a hook sets goes to the client. */
export class GraphqlResult {
  #text: string | null;
  #data: unknown;
  /** Null without errors. */
  errors: readonly Error[] | null;
  /** Members of `extensions` in the response, which has none if this is empty. */
  extensions: Record<string, unknown>;

  constructor({ data = null, errors = null, extensions = {} }: Partial<GraphqlResultParts> = {}) {
    this.#text = null;
    this.#data = data;
    this.errors = errors;
    this.extensions = extensions;
  }

  /** @internal A result whose data is JSON already. */
  static executed(text: string, errors: readonly Error[] | null): GraphqlResult {
    const result = new GraphqlResult({ errors });
    result.#text = text;
    return result;
  }

  /** The data. The compiled execution writes JSON: it is parsed when a hook reads it. */
  get data(): unknown {
    if (this.#text !== null) this.#data = JSON.parse(this.#text);
    this.#text = null;
    return this.#data;
  }

  set data(data: unknown) {
    this.#text = null;
    this.#data = data;
  }

  /** @internal The data as JSON. */
  get dataText(): string {
    return this.#text ?? JSON.stringify(this.#data) ?? "null";
  }
}

interface GraphqlResultParts {
  readonly data: unknown;
  readonly errors: readonly Error[] | null;
  readonly extensions: Record<string, unknown>;
}
