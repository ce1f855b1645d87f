import type {
  ArgumentNode,
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLCompositeType,
  GraphQLField,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from "graphql";
import {
  getNamedType,
  getNullableType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
} from "./graphql-js.js";

/** Arguments that give the number of items. */
const sizes = ["first", "last", "limit", "take", "pageSize", "size", "count"];

/**
 * The cost of an operation: 1 for each field, times the number of items of the lists around it. Fragments are computed
 * once each. Fields of the schema's own description count once, because their number depends on the schema alone.
 */
export class Complexity {
  readonly #schema: GraphQLSchema;
  readonly #operation: OperationDefinitionNode;
  readonly #listSize: number;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  #fixed: number | null = null;
  #usesVariables = false;

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, listSize: number) {
    this.#schema = schema;
    this.#operation = operation;
    this.#listSize = listSize;
    for (const definition of document.definitions) {
      if (definition.kind === "FragmentDefinition") this.#fragments.set(definition.name.value, definition);
    }
  }

  /** The cost with these variables. If it does not depend on them, it is computed once. */
  of(variables: Readonly<Record<string, unknown>>): number {
    if (this.#fixed !== null) return this.#fixed;
    const root = this.#schema.getRootType(this.#operation.operation) ?? undefined;
    const cost = this.#set(this.#operation.selectionSet, root, false, variables, new Map());
    if (!this.#usesVariables) this.#fixed = cost;
    return cost;
  }

  /** `counted`: the number of items was given by an argument of the field around, as in connections. */
  #set(
    set: SelectionSetNode,
    type: GraphQLCompositeType | undefined,
    counted: boolean,
    variables: Readonly<Record<string, unknown>>,
    known: Map<string, number>,
  ): number {
    let cost = 0;
    for (const selection of set.selections) {
      if (selection.kind === "Field") cost += this.#field(selection, type, counted, variables, known);
      else if (selection.kind === "InlineFragment") {
        const inner = selection.typeCondition ? this.#type(selection.typeCondition.name.value) : type;
        cost += this.#set(selection.selectionSet, inner, counted, variables, known);
      } else {
        const fragment = this.#fragments.get(selection.name.value);
        if (!fragment) continue;
        const key = `${counted} ${fragment.name.value}`;
        let own = known.get(key);
        if (own === undefined) {
          own = this.#set(
            fragment.selectionSet,
            this.#type(fragment.typeCondition.name.value),
            counted,
            variables,
            known,
          );
          known.set(key, own);
        }
        cost += own;
      }
    }
    return cost;
  }

  #field(
    node: FieldNode,
    type: GraphQLCompositeType | undefined,
    counted: boolean,
    variables: Readonly<Record<string, unknown>>,
    known: Map<string, number>,
  ): number {
    if (!node.selectionSet) return 1;
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined;
    if (!field) return 1;
    const named = getNamedType(field.type);
    const inner = isCompositeType(named) ? named : undefined;
    const isList = isListType(getNullableType(field.type));
    const size = this.#size(field, node, variables);
    const times = size ?? (isList && !counted ? this.#listSize : 1);
    return 1 + times * this.#set(node.selectionSet, inner, size !== null && !isList, variables, known);
  }

  /** The number of items that an argument asks for; null without one. */
  #size(
    field: GraphQLField<unknown, unknown>,
    node: FieldNode,
    variables: Readonly<Record<string, unknown>>,
  ): number | null {
    for (const name of sizes) {
      const argument = field.args.find((each) => each.name === name);
      if (!argument) continue;
      const given = node.arguments?.find((each) => each.name.value === name);
      const value = given ? this.#value(given, variables) : undefined;
      const size = value ?? argument.defaultValue;
      if (typeof size === "number" && size >= 0) return Math.max(1, size);
    }
    return null;
  }

  #value({ value }: ArgumentNode, variables: Readonly<Record<string, unknown>>): unknown {
    if (value.kind === "IntValue") return Number(value.value);
    if (value.kind !== "Variable") return undefined;
    this.#usesVariables = true;
    return variables[value.name.value];
  }

  #type(name: string): GraphQLCompositeType | undefined {
    const type = this.#schema.getType(name);
    return type && isCompositeType(type) ? type : undefined;
  }
}
