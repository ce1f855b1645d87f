import type { FragmentDefinitionNode, GraphQLError, GraphQLSchema, OperationDefinitionNode } from "graphql";
import type { Path } from "./path.js";

/** The state of one execution. */
export class Run {
  readonly schema: GraphQLSchema;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  readonly operation: OperationDefinitionNode;
  readonly variables: Record<string, unknown>;
  readonly rootValue: unknown;
  readonly context: unknown;
  errors: GraphQLError[] | null = null;
  /** True once an error waits for other fields: then texts take as many steps as errors. */
  inStep = false;
  /** Receivers of texts that are being called, each by the one before it. */
  nesting = 0;
  #nulled: Set<Path | undefined> | null = null;
  /** The arguments of fields that are the same for the whole run, by slot; null for those that are not. */
  readonly arguments: (Record<string, unknown> | null)[] = [];

  constructor(
    schema: GraphQLSchema,
    fragments: Record<string, FragmentDefinitionNode>,
    operation: OperationDefinitionNode,
    variables: Record<string, unknown>,
    rootValue: unknown,
    context: unknown,
  ) {
    this.schema = schema;
    this.fragments = fragments;
    this.operation = operation;
    this.variables = variables;
    this.rootValue = rootValue;
    this.context = context;
  }

  /** Keeps an error, unless a null of another error has already taken its place or that of an ancestor. */
  add(error: GraphQLError, path: Path | undefined): void {
    const nulled = (this.#nulled ??= new Set());
    for (let at = path; at !== undefined; at = at.prev) if (nulled.has(at)) return;
    if (nulled.has(undefined)) return;
    nulled.add(path);
    (this.errors ??= []).push(error);
  }
}
