import type { FieldNode, GraphQLField, GraphQLFieldResolver, GraphQLObjectType, GraphQLResolveInfo } from "graphql";
import type { Path } from "./path.js";
import type { Run } from "./run.js";
import type { Scalar } from "./scalar-text.js";

/** Turns the value of a resolver into the JSON text of the response, into null, or into a `Later`. */
export type Complete = (
  run: Run,
  field: FieldPlan,
  path: Path | undefined,
  info: GraphQLResolveInfo | null,
  value: unknown,
) => unknown;

/** Everything about a field of a response that does not depend on the request. */
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
  /** The number of this field among those whose arguments depend on variables only; -1 for others. */
  readonly slot: number;
  readonly nonNull: boolean;
  /** The scalar of the field, required or not; none for a list of them. */
  readonly scalar: Scalar;
  /** True for a leaf: its path is made only for an error. */
  readonly leaf: boolean;
  /** True if completion calls functions of the schema, which take `info`. */
  readonly needsInfo: boolean;
  readonly complete: Complete;
}

/** The fields of one or more selection sets, by the type of the object they are executed on. */
export interface Selection {
  fieldsOf(type: GraphQLObjectType): readonly FieldPlan[];
}
