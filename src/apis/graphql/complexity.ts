import type {
  FieldNode,
  FragmentDefinitionNode,
  GraphQLCompositeType,
  GraphQLField,
  GraphQLInputType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from "graphql";
import {
  getNamedType,
  getNullableType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isObjectType,
  valueFromAST,
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

/** Names of arguments that give the number of items, of a field or inside of an input object: in any case, without `_`. */
const sizes = new Set(
  "first last limit take size count top n pagesize perpage pagelimit batchsize maxresults maxitems maxcount".split(" "),
);

/** Names of arguments whose input objects are filters, as those of models. */
const filters = new Set(["filter", "where"]);

/** One computation of a cost. */
interface Count {
  readonly variables: Readonly<Record<string, unknown>>;
  /** The cost of each fragment, by the size of lists without a number. */
  readonly fragments: Map<string, number>;
  /** The fields, list items and conditions in arguments that may still be looked at. Each costs 1: more of them exceed the limit. */
  left: number;
}

/** What the arguments of a field say: the number of items that they ask for, the items of their own lists, and conditions. */
interface Arguments {
  readonly size: number | null;
  readonly items: number;
  readonly conditions: number;
}

/**
 * The cost of an operation. A field costs 1, unless it declares another cost. In its arguments, each item of a list and each
 * condition of a filter costs 1. Each cost is multiplied by the number of items of the lists around the field. The number that
 * the arguments of a field ask for is that of its list; in a connection it is that of the lists inside. A fragment is computed
 * once. Fields of the schema's own description count once, because their number depends on the schema alone.
 */
export class Complexity {
  #fixed: number | null = null;
  #usesVariables = false;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>,
    private readonly operation: OperationDefinitionNode,
    private readonly listSize: number,
  ) {}

  /** True if the cost with these variables is over the limit. If it does not depend on them, it is computed once. */
  exceeds(limit: number, variables: Readonly<Record<string, unknown>>): boolean {
    if (this.#fixed !== null) return this.#fixed > limit;
    const count: Count = { variables, fragments: new Map(), left: limit };
    const root = this.schema.getRootType(this.operation.operation) ?? undefined;
    const computed = this.#set(this.operation.selectionSet, root, this.listSize, count);
    const cost = count.left < 0 ? Infinity : computed;
    if (!this.#usesVariables) this.#fixed = cost;
    return cost > limit;
  }

  /** `unsized`: the items of a list without a number. In a connection, the number that its arguments give. */
  #set(set: SelectionSetNode, type: GraphQLCompositeType | undefined, unsized: number, count: Count): number {
    let cost = 0;
    for (const selection of set.selections) {
      if (selection.kind === "Field") cost += this.#field(selection, type, unsized, count);
      else if (selection.kind === "InlineFragment") {
        const inner = selection.typeCondition ? this.#type(selection.typeCondition.name.value) : type;
        cost += this.#set(selection.selectionSet, inner, unsized, count);
      } else {
        const fragment = this.fragments[selection.name.value];
        if (!fragment) continue;
        const key = `${unsized} ${fragment.name.value}`;
        let own = count.fragments.get(key);
        if (own === undefined) {
          own = this.#set(fragment.selectionSet, this.#type(fragment.typeCondition.name.value), unsized, count);
          count.fragments.set(key, own);
        }
        cost += own;
      }
    }
    return cost;
  }

  #field(node: FieldNode, type: GraphQLCompositeType | undefined, unsized: number, count: Count): number {
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined;
    if (!field) {
      count.left--;
      return 1;
    }
    const { cost = 1, size: sizing } = costOf(field);
    count.left -= cost;
    const isList = isListType(getNullableType(field.type));
    const { size, items, conditions } = this.#arguments(field, node, sizing, count);
    const own = cost + items + conditions;
    if (count.left < 0) return own;
    if (!node.selectionSet) return own + (isList || sizing !== undefined ? (size ?? 0) : 0);
    const named = getNamedType(field.type);
    const inner = isCompositeType(named) ? named : undefined;
    if (isList || (sizing !== undefined && size !== null)) {
      // A field that names no number often gives an item for each one of a list: `users(ids: [...])`.
      const times = size ?? Math.max(unsized, items);
      return own + times * this.#set(node.selectionSet, inner, isList ? this.listSize : 1, count);
    }
    return own + this.#set(node.selectionSet, inner, size ?? Math.max(this.listSize, unsized, items), count);
  }

  #arguments(
    field: GraphQLField<unknown, unknown>,
    node: FieldNode,
    sizing: string | number | undefined,
    count: Count,
  ): Arguments {
    const fixed = typeof sizing === "number" ? sizing : null;
    if (field.args.length === 0) return { size: fixed, items: 0, conditions: 0 };
    const numbers: Record<string, number> = {};
    let items = 0;
    let conditions = 0;
    const visit = (name: string, value: unknown, type: GraphQLInputType, inFilter: boolean): void => {
      const nullable = getNullableType(type);
      if (isListType(nullable)) {
        const list = Array.isArray(value) ? value : [];
        items += list.length;
        count.left -= list.length;
        if (count.left >= 0) for (const item of list) visit(name, item, nullable.ofType, inFilter);
      } else if (isInputObjectType(nullable)) {
        const given = (value ?? {}) as Readonly<Record<string, unknown>>;
        for (const inner of Object.values(nullable.getFields())) {
          if (given[inner.name] === undefined) continue;
          if (inFilter && !isInputObjectType(getNamedType(inner.type))) {
            conditions++;
            count.left--;
          }
          visit(inner.name, given[inner.name], inner.type, inFilter);
        }
      } else if (typeof value === "number" || typeof value === "bigint") {
        const plain = name.replaceAll("_", "").toLowerCase();
        if (name === sizing || sizes.has(plain)) numbers[plain] = Math.max(numbers[plain] ?? 1, Number(value));
      }
    };
    for (const { name, type, defaultValue } of field.args) {
      const given = node.arguments?.find((each) => each.name.value === name)?.value;
      if (given !== undefined) this.#usesVariables ||= hasVariable(given);
      visit(
        name,
        given === undefined ? defaultValue : (valueFromAST(given, type, count.variables) ?? defaultValue),
        type,
        filters.has(name),
      );
    }
    // Some lists take both ends.
    const both = (numbers["first"] ?? 0) + (numbers["last"] ?? 0);
    const all = Object.values(numbers);
    return { size: fixed ?? (all.length === 0 ? null : Math.max(both, ...all)), items, conditions };
  }

  #type(name: string): GraphQLCompositeType | undefined {
    const type = this.schema.getType(name);
    return type && isCompositeType(type) ? type : undefined;
  }
}

function hasVariable(value: ValueNode): boolean {
  if (value.kind === "ListValue") return value.values.some(hasVariable);
  if (value.kind === "ObjectValue") return value.fields.some((field) => hasVariable(field.value));
  return value.kind === "Variable";
}
