import type {
  FieldNode,
  FragmentDefinitionNode,
  GraphQLCompositeType,
  GraphQLField,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from "graphql";
import {
  getNamedType,
  getNullableType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
} from "./graphql-js.js";
import type { FieldCost } from "./schema-like.js";

/** The cost of a field, in its extensions: those of another library, too. */
function costOf({ extensions }: GraphQLField<unknown, unknown>): FieldCost {
  const { cost, size } = extensions as FieldCost;
  return {
    ...(typeof cost === "number" && { cost }),
    ...((typeof size === "number" || typeof size === "string") && { size }),
  };
}

/** Arguments that give the number of items, of a field or inside of an input object. */
const sizes = new Set(["first", "last", "limit", "take", "pageSize", "page_size", "perPage", "size", "count", "top"]);

/**
 * The cost of an operation: that of each field, 1 unless it has another, times the number of items of the lists around
 * it. Fragments are computed once each. Fields of the schema's own description count once, because their number depends on the schema alone.
 */
export class Complexity {
  readonly #schema: GraphQLSchema;
  readonly #operation: OperationDefinitionNode;
  readonly #listSize: number;
  readonly #fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  #fixed: number | null = null;
  #usesVariables = false;

  constructor(
    schema: GraphQLSchema,
    fragments: Readonly<Record<string, FragmentDefinitionNode>>,
    operation: OperationDefinitionNode,
    listSize: number,
  ) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#operation = operation;
    this.#listSize = listSize;
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
        const fragment = this.#fragments[selection.name.value];
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
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined;
    if (!field) return 1;
    const { cost = 1, size: sizing } = costOf(field);
    const isList = isListType(getNullableType(field.type));
    const size = typeof sizing === "number" ? sizing : this.#size(field, node, sizing, variables);
    if (!node.selectionSet) return cost;
    const named = getNamedType(field.type);
    const inner = isCompositeType(named) ? named : undefined;
    const times = size ?? (isList && !counted ? this.#listSize : 1);
    return cost + times * this.#set(node.selectionSet, inner, size !== null && !isList, variables, known);
  }

  /** The largest number of items that the arguments ask for; null without one. */
  #size(
    field: GraphQLField<unknown, unknown>,
    node: FieldNode,
    sizing: string | undefined,
    variables: Readonly<Record<string, unknown>>,
  ): number | null {
    let largest: number | null = null;
    const note = (name: string, value: unknown): void => {
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        for (const [inner, item] of Object.entries(value)) note(inner, item);
      } else if (typeof value === "number" && (name === sizing || sizes.has(name))) {
        largest = Math.max(largest ?? 1, value);
      }
    };
    for (const { name, defaultValue } of field.args) {
      const given = node.arguments?.find((each) => each.name.value === name);
      const value = given ? this.#value(given.value, variables) : undefined;
      note(name, value ?? defaultValue);
    }
    return largest;
  }

  #value(value: ValueNode, variables: Readonly<Record<string, unknown>>): unknown {
    if (value.kind === "IntValue") return Number(value.value);
    if (value.kind === "ObjectValue") {
      return Object.fromEntries(value.fields.map((each) => [each.name.value, this.#value(each.value, variables)]));
    }
    if (value.kind !== "Variable") return undefined;
    this.#usesVariables = true;
    return variables[value.name.value];
  }

  #type(name: string): GraphQLCompositeType | undefined {
    const type = this.#schema.getType(name);
    return type && isCompositeType(type) ? type : undefined;
  }
}
