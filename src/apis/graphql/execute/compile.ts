import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLField,
  GraphQLObjectType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from "graphql";
import {
  GraphQLError,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  isAbstractType,
  isLeafType,
  isNonNullType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  typeFromAST,
} from "../graphql-js.js";
import { completionOf, needsInfo } from "./complete.js";
import { executeFields, executeSerially, isFlat, textOf } from "./execute-fields.js";
import { Later } from "./later.js";
import type { FieldPlan, Selection } from "./plan.js";
import { Run } from "./run.js";
import { scalarOf } from "./scalar-text.js";

/** The result of an operation. */
export interface TextResult {
  /** The data as JSON; null if an error has taken its place. */
  readonly data: string | null;
  /** Null without errors. */
  readonly errors: readonly GraphQLError[] | null;
}

/** A valid operation, ready to be executed often. */
export class CompiledOperation {
  readonly operation: OperationDefinitionNode;
  readonly #schema: GraphQLSchema;
  readonly #fragments: Record<string, FragmentDefinitionNode>;
  /** The variables that `@skip` and `@include` depend on. */
  readonly #conditions: readonly string[];
  readonly #plans = new Map<string, Plan>();

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) {
    this.#schema = schema;
    this.operation = operation;
    this.#fragments = fragmentsOf(document);
    this.#conditions = conditionsOf(document);
  }

  /** Executes the operation with variables that have been coerced. Never throws, never rejects. */
  execute(variables: Record<string, unknown>, context: unknown, rootValue?: unknown): TextResult | Promise<TextResult> {
    const run = new Run(this.#schema, this.#fragments, this.operation, variables, rootValue, context);
    try {
      const rootType = this.#schema.getRootType(this.operation.operation);
      if (!rootType) {
        const message = `Schema is not configured to execute ${this.operation.operation} operation.`;
        throw new GraphQLError(message, { nodes: this.operation });
      }
      const fields = this.#planFor(variables, rootType);
      const data =
        this.operation.operation === "mutation"
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

  /** One plan for each combination of conditions; few are kept, because each client can make new ones. */
  #planFor(variables: Record<string, unknown>, rootType: GraphQLObjectType): readonly FieldPlan[] {
    let key = "";
    for (const name of this.#conditions) key += Object.hasOwn(variables, name) ? `${variables[name]} ` : "- ";
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = new Plan(this.#schema, this.#fragments, this.#conditionValues(variables));
      if (this.#plans.size < maxPlans) this.#plans.set(key, plan);
    }
    return plan.root(rootType, this.operation);
  }

  #conditionValues(variables: Record<string, unknown>): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const name of this.#conditions) if (Object.hasOwn(variables, name)) values[name] = variables[name];
    return values;
  }
}

const maxPlans = 16;

function resultOf({ errors }: Run, data: string | null): TextResult {
  return { data, errors };
}

function failure(run: Run, error: GraphQLError): TextResult {
  run.add(error, undefined);
  return resultOf(run, null);
}

/** The fields of an operation for one combination of conditions. Made while it is executed: unused parts cost nothing. */
class Plan {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Record<string, FragmentDefinitionNode>;
  readonly #conditions: Record<string, unknown>;
  #root: readonly FieldPlan[] | null = null;
  #slots = 0;

  constructor(
    schema: GraphQLSchema,
    fragments: Record<string, FragmentDefinitionNode>,
    conditions: Record<string, unknown>,
  ) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#conditions = conditions;
  }

  root(type: GraphQLObjectType, operation: OperationDefinitionNode): readonly FieldPlan[] {
    return (this.#root ??= this.#fields(type, [operation.selectionSet]));
  }

  #selection(nodes: readonly FieldNode[]): Selection {
    const known = new Map<GraphQLObjectType, readonly FieldPlan[]>();
    return {
      fieldsOf: (type) => {
        let fields = known.get(type);
        if (fields === undefined) {
          const sets = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
          known.set(type, (fields = this.#fields(type, sets)));
        }
        return fields;
      },
    };
  }

  #fields(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): readonly FieldPlan[] {
    const collected = new Map<string, FieldNode[]>();
    const visited = new Set<string>();
    for (const set of sets) this.#collect(type, set, collected, visited);
    const plans: FieldPlan[] = [];
    for (const [key, nodes] of collected) {
      const definition = definitionOf(this.#schema, type, nodes[0]!.name.value);
      if (definition) plans.push(this.#plan(key, nodes, type, definition));
    }
    return plans;
  }

  #plan(
    key: string,
    nodes: readonly FieldNode[],
    parentType: GraphQLObjectType,
    definition: GraphQLField<unknown, unknown>,
  ): FieldPlan {
    const { type } = definition;
    const nonNull = isNonNullType(type);
    const hasArguments = definition.args.length > 0;
    const constantArguments = hasArguments ? constantArgumentsOf(definition, nodes[0]!) : null;
    return {
      key,
      prefix: `${JSON.stringify(key)}:`,
      nextPrefix: `,${JSON.stringify(key)}:`,
      name: definition.name,
      definition,
      nodes,
      parentType,
      resolve: definition.resolve ?? null,
      constantArguments,
      hasArguments,
      slot: hasArguments && constantArguments === null ? this.#slots++ : -1,
      nonNull,
      scalar: scalarOf(nonNull ? type.ofType : type),
      leaf: isLeafType(nonNull ? type.ofType : type),
      needsInfo: needsInfo(type),
      complete: completionOf(type, this.#selection(nodes)),
    };
  }

  #collect(
    type: GraphQLObjectType,
    set: SelectionSetNode,
    fields: Map<string, FieldNode[]>,
    visited: Set<string>,
  ): void {
    for (const selection of set.selections) {
      switch (selection.kind) {
        case "Field": {
          if (!this.#isIncluded(selection)) break;
          const key = selection.alias?.value ?? selection.name.value;
          const nodes = fields.get(key);
          if (nodes) nodes.push(selection);
          else fields.set(key, [selection]);
          break;
        }
        case "InlineFragment":
          if (this.#isIncluded(selection) && this.#applies(selection, type)) {
            this.#collect(type, selection.selectionSet, fields, visited);
          }
          break;
        case "FragmentSpread": {
          const name = selection.name.value;
          if (visited.has(name) || !this.#isIncluded(selection)) break;
          visited.add(name);
          const fragment = this.#fragments[name];
          if (fragment && this.#applies(fragment, type)) this.#collect(type, fragment.selectionSet, fields, visited);
        }
      }
    }
  }

  #isIncluded(node: SelectionSetNode["selections"][number]): boolean {
    if (!node.directives?.length) return true;
    if (getDirectiveValues(GraphQLSkipDirective, node, this.#conditions)?.["if"] === true) return false;
    return getDirectiveValues(GraphQLIncludeDirective, node, this.#conditions)?.["if"] !== false;
  }

  #applies(
    {
      typeCondition,
    }: Pick<FragmentDefinitionNode, never> & { typeCondition?: FragmentDefinitionNode["typeCondition"] | undefined },
    type: GraphQLObjectType,
  ): boolean {
    if (!typeCondition) return true;
    const condition = typeFromAST(this.#schema, typeCondition);
    return condition === type || (isAbstractType(condition) && this.#schema.isSubType(condition, type));
  }
}

function definitionOf(
  schema: GraphQLSchema,
  type: GraphQLObjectType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  const isQuery = schema.getQueryType() === type;
  if (name === SchemaMetaFieldDef.name && isQuery) return SchemaMetaFieldDef;
  if (name === TypeMetaFieldDef.name && isQuery) return TypeMetaFieldDef;
  return name === TypeNameMetaFieldDef.name ? TypeNameMetaFieldDef : type.getFields()[name];
}

/** The arguments of a field without variables, if a shallow copy can stand for them; null for others. */
function constantArgumentsOf(
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
): Readonly<Record<string, unknown>> | null {
  if (node.arguments?.some(({ value }) => hasVariable(value))) return null;
  try {
    const values = getArgumentValues(definition, node, {});
    return isFlat(values) ? values : null;
  } catch {
    // The error belongs to each execution.
    return null;
  }
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === "Variable") return true;
  if (value.kind === "ListValue") return value.values.some(hasVariable);
  return value.kind === "ObjectValue" && value.fields.some((field) => hasVariable(field.value));
}

function fragmentsOf(document: DocumentNode): Record<string, FragmentDefinitionNode> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === "FragmentDefinition") fragments[definition.name.value] = definition;
  }
  return fragments;
}

function conditionsOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      for (const directive of selection.directives ?? []) {
        if (directive.name.value !== "skip" && directive.name.value !== "include") continue;
        for (const { value } of directive.arguments ?? []) if (value.kind === "Variable") names.add(value.name.value);
      }
      if (selection.kind !== "FragmentSpread" && selection.selectionSet) visit(selection.selectionSet);
    }
  };
  for (const definition of document.definitions) {
    if ("selectionSet" in definition && definition.selectionSet) visit(definition.selectionSet);
  }
  return [...names];
}
