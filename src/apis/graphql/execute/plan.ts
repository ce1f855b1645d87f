import type {
  FieldNode,
  FragmentDefinitionNode,
  GraphQLError,
  GraphQLField,
  GraphQLFieldResolver,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
} from "graphql";
import type { Path } from "./path.js";
import type { Scalar } from "./scalar-text.js";

let runs = 0;

/** The state of one execution. */
export class Run {
  readonly id: number = ++runs;
  errors: GraphQLError[] | null = null;
  /** Promises of resolvers that are not settled yet. */
  #waiting = 0;
  #onIdle: (() => void) | null = null;
  /** Receivers of texts that are being called, each by the one before it. */
  nesting = 0;
  #nulled: Set<Path | undefined> | null = null;
  /** Fields that are not the same for all executions. */
  #fields: Map<Selection, Map<GraphQLObjectType, readonly FieldPlan[]>> | null = null;
  /** The arguments of fields that are the same for the whole run, by slot; null for those that are not. */
  readonly arguments: (Record<string, unknown> | null)[] = [];

  constructor(
    readonly schema: GraphQLSchema,
    readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>,
    readonly operation: OperationDefinitionNode,
    readonly variables: Record<string, unknown>,
    readonly rootValue: unknown,
    readonly context: unknown,
  ) {}

  /** A promise of a resolver is awaited. */
  begin(): void {
    this.#waiting++;
  }

  end(): void {
    if (--this.#waiting === 0) this.#onIdle?.();
  }

  /** Resolves when all promises of resolvers are settled; null if they are. An error can end an execution before. */
  untilIdle(): Promise<void> | null {
    return this.#waiting === 0 ? null : new Promise((resolve) => (this.#onIdle = resolve));
  }

  /** Keeps an error, unless a null of another error has already taken its place or that of an ancestor. */
  add(error: GraphQLError, path: Path | undefined): void {
    const nulled = (this.#nulled ??= new Set());
    for (let at = path; at !== undefined; at = at.prev) if (nulled.has(at)) return;
    if (nulled.has(undefined)) return;
    nulled.add(path);
    (this.errors ??= []).push(error);
  }

  fieldsOf(selection: Selection, type: GraphQLObjectType): readonly FieldPlan[] | undefined {
    return this.#fields?.get(selection)?.get(type);
  }

  keepFields(selection: Selection, type: GraphQLObjectType, fields: readonly FieldPlan[]): void {
    const all = (this.#fields ??= new Map());
    const known = all.get(selection);
    if (known) known.set(type, fields);
    else all.set(selection, new Map([[type, fields]]));
  }
}

/** Turns the value of a resolver into the JSON text of the response, into null, or into a `Later`. */
export type Complete = (
  run: Run,
  field: FieldPlan,
  path: Path | undefined,
  info: GraphQLResolveInfo | null,
  value: unknown,
) => unknown;

/** Everything about a field of a response that does not depend on the request or on its place in the response. */
export interface FieldPlan {
  /** The key in the response. */
  readonly key: string;
  /** The key as it stands in JSON: `"title":`. */
  readonly prefix: string;
  /** The same after another member: `,"title":`. */
  readonly nextPrefix: string;
  /** The name in the schema. */
  readonly name: string;
  readonly definition: GraphQLField<unknown, unknown>;
  /** The nodes that were merged into this field. */
  readonly nodes: readonly FieldNode[];
  readonly parentType: GraphQLObjectType;
  /** Null if the value is a property of the source. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  /** The arguments, if they are the same for every request and have only primitive values. */
  readonly constantArguments: Readonly<Record<string, unknown>> | null;
  readonly hasArguments: boolean;
  /** The number of this field among those whose arguments depend on variables, in a plan that is kept; -1 for others. */
  readonly slot: number;
  readonly nonNull: boolean;
  /** The scalar of the field, required or not; none for a list of them. */
  readonly scalar: Scalar;
  /** True for a leaf: its path is made only for an error. */
  readonly leaf: boolean;
  /** True if completion calls functions of the schema, which take `info`. */
  readonly needsInfo: boolean;
  /** The fields inside of this one. */
  readonly selection: Selection;
  readonly complete: Complete;
}

/** The fields of one or more selection sets, by the type of the object they are executed on. */
export interface Selection {
  /** The execution in which its objects need not be looked at for promises. */
  lookedIn: number;
  fieldsOf(run: Run, type: GraphQLObjectType): readonly FieldPlan[];
}
