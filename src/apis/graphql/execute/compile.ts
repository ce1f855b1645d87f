import type { GraphQLSchema, OperationDefinitionNode } from "graphql";
import { GraphQLError } from "../graphql-js.js";
import type { DocumentPlan } from "./document-plan.js";
import { executeFields, executeSerially, textOf } from "./execute-fields.js";
import { Later } from "./later.js";
import type { Selection } from "./plan.js";
import { Run } from "./plan.js";

/** The result of an operation. */
export interface TextResult {
  /** The data as JSON; null if an error has taken its place. */
  readonly data: string | null;
  /** Null without errors. */
  readonly errors: readonly GraphQLError[] | null;
  /** The extensions of the response as JSON, if hooks have set any. */
  readonly extensions?: string;
  /** Resolves when the resolvers have ended that an error did not wait for; null if all have. */
  readonly running: Promise<void> | null;
}

/** A valid operation, ready to be executed often. */
export class CompiledOperation {
  readonly operation: OperationDefinitionNode;
  readonly #plan: DocumentPlan;
  readonly #root: Selection;

  constructor(plan: DocumentPlan, operation: OperationDefinitionNode) {
    this.#plan = plan;
    this.operation = operation;
    this.#root = plan.selection([operation.selectionSet]);
  }

  /** Executes the operation with variables that have been coerced. Never throws, never rejects. */
  execute(variables: Record<string, unknown>, context: unknown, rootValue?: unknown): TextResult | Promise<TextResult> {
    const { operation } = this;
    const { schema, fragments } = this.#plan;
    const run = new Run(schema, fragments, operation, variables, rootValue, context);
    try {
      const fields = this.#root.fieldsOf(run, rootTypeOf(schema, operation));
      const data =
        operation.operation === "mutation"
          ? executeSerially(run, fields, rootValue)
          : executeFields(run, fields, rootValue, undefined);
      if (typeof data === "string") return resultOf(run, data);
      return (data instanceof Later ? textOf(data) : data).then(
        (text) => resultOf(run, text as string),
        (error: GraphQLError) => failure(run, error),
      );
    } catch (error) {
      return failure(run, error as GraphQLError);
    }
  }
}

function rootTypeOf(schema: GraphQLSchema, operation: OperationDefinitionNode) {
  const type = schema.getRootType(operation.operation);
  if (type) return type;
  throw new GraphQLError(`Schema is not configured to execute ${operation.operation} operation.`, { nodes: operation });
}

function resultOf(run: Run, data: string | null): TextResult {
  return { data, errors: run.errors, running: run.untilIdle() };
}

function failure(run: Run, error: GraphQLError): TextResult {
  run.add(error, undefined);
  return resultOf(run, null);
}
