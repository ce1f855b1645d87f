import type { GraphQLSchema, OperationDefinitionNode } from "graphql";
import { GraphQLError } from "../graphql-js.js";
import { splitFields } from "./complete-object.js";
import { Delivery } from "./delivery.js";
import type { DocumentPlan } from "./document-plan.js";
import { executeFields, executeSerially, textOf } from "./execute-fields.js";
import { Later } from "./later.js";
import type { Selection } from "./plan.js";
import { Parts, Run } from "./plan.js";

/** The result of an operation. */
export interface TextResult {
  /** The data as JSON; null if an error has taken its place. */
  readonly data: string | null;
  /** Null without errors. */
  readonly errors: readonly GraphQLError[] | null;
  /** The parts that are sent later. */
  readonly more?: Delivery;
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
  execute(
    variables: Record<string, unknown>,
    context: unknown,
    rootValue?: unknown,
    maxParts = 0,
  ): TextResult | Promise<TextResult> {
    const { operation } = this;
    const parts = maxParts > 0 && this.#plan.hasParts ? new Parts({ left: maxParts }) : null;
    const { schema, fragments } = this.#plan;
    const run = new Run(schema, fragments, operation, variables, rootValue, context, parts);
    try {
      const type = rootTypeOf(schema, operation);
      const fields =
        parts !== null && operation.operation === "query"
          ? splitFields(run, type, this.#root, rootValue, undefined)
          : this.#root.fieldsOf(run, type);
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
  const left = run.closeParts();
  const result = { data, errors: run.errors, running: run.untilIdle() };
  return left.length === 0 ? result : { ...result, more: new Delivery(left, () => run.child()) };
}

function failure(run: Run, error: GraphQLError): TextResult {
  run.add(error, undefined);
  return resultOf(run, null);
}
