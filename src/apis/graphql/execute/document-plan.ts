import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLField,
  GraphQLObjectType,
  GraphQLSchema,
  NamedTypeNode,
  SelectionNode,
  SelectionSetNode,
} from "graphql";
import {
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  isAbstractType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  typeFromAST,
} from "../graphql-js.js";
import { fieldPlan } from "./field-plan.js";
import type { FieldPlan, Run, Selection } from "./plan.js";

/** Bytes of the plan of a field, and of its entry in a list of fields. Measured, and rounded up. */
const fieldBytes = 800;
const entryBytes = 16;
const listBytes = 100;

/** Bytes of plans that a document keeps, beside those for each of its characters. Enough for 2,500 fields. */
const maxBytes = 2_000_000;
const maxBytesPerCharacter = 200;

/**
 * The plans of the fields of a document, made while its operations are executed: parts that are not used cost nothing.
 * There is one plan for each field and each type of its object, however often fragments repeat it and whatever the
 * variables are. Only fields that are merged can have more, and abstract types can have many objects: their plans are
 * kept up to a number of bytes and made for one execution above it.
 */
export class DocumentPlan {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly #grow: (bytes: number) => void;
  readonly #fields = new Map<string, FieldPlan>();
  readonly #ids = new Map<FieldNode, number>();
  #bytesLeft: number;
  #slots = 0;

  /** `grow` is called with the number of bytes that the plans take more. */
  constructor(schema: GraphQLSchema, document: DocumentNode, grow: (bytes: number) => void = () => {}) {
    this.schema = schema;
    this.fragments = fragmentsOf(document);
    this.#grow = grow;
    this.#bytesLeft = maxBytes + maxBytesPerCharacter * (document.loc?.end ?? 0);
  }

  selection(sets: readonly SelectionSetNode[]): Selection {
    return new PlannedSelection(this, sets);
  }

  /** The fields of selection sets for an object of this type; `fixed` if the plan can keep them for all executions. */
  fieldsOf(
    type: GraphQLObjectType,
    sets: readonly SelectionSetNode[],
    run: Run,
  ): { readonly fields: readonly FieldPlan[]; readonly fixed: boolean } {
    const collected = new CollectedFields(this, type, run.variables);
    for (const set of sets) collected.add(set);
    const fields: FieldPlan[] = [];
    let fixed = !collected.conditional;
    for (const [key, nodes] of collected.fields) {
      const definition = definitionOf(this.schema, type, nodes[0]!.name.value);
      if (!definition) continue;
      const { plan, kept } = this.#field(key, nodes, type, definition);
      fields.push(plan);
      fixed &&= kept;
    }
    return { fields, fixed: fixed && this.#keep(listBytes + fields.length * entryBytes) };
  }

  #field(
    key: string,
    nodes: readonly FieldNode[],
    type: GraphQLObjectType,
    definition: GraphQLField<unknown, unknown>,
  ): { readonly plan: FieldPlan; readonly kept: boolean } {
    let id = type.name;
    for (const node of nodes) id += ` ${this.#idOf(node)}`;
    const known = this.#fields.get(id);
    if (known) return { plan: known, kept: true };
    const sets = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
    const kept = this.#keep(fieldBytes + id.length + (nodes.length + definition.args.length) * entryBytes);
    const plan = fieldPlan(key, nodes, type, definition, this.selection(sets), kept ? this.#slots : -1);
    if (kept) this.#fields.set(id, plan);
    if (plan.slot >= 0) this.#slots++;
    return { plan, kept };
  }

  #idOf(node: FieldNode): number {
    let id = this.#ids.get(node);
    if (id === undefined) this.#ids.set(node, (id = this.#ids.size));
    return id;
  }

  #keep(bytes: number): boolean {
    if (bytes > this.#bytesLeft) return false;
    this.#bytesLeft -= bytes;
    this.#grow(bytes);
    return true;
  }
}

class PlannedSelection implements Selection {
  lookedIn = 0;
  #type: GraphQLObjectType | null = null;
  #fields: readonly FieldPlan[] = [];
  /** The fields for other types than the first one. */
  #others: Map<GraphQLObjectType, readonly FieldPlan[]> | null = null;

  constructor(
    private readonly plan: DocumentPlan,
    private readonly sets: readonly SelectionSetNode[],
  ) {}

  fieldsOf(run: Run, type: GraphQLObjectType): readonly FieldPlan[] {
    if (type === this.#type) return this.#fields;
    const known = this.#others?.get(type) ?? run.fieldsOf(this, type);
    if (known !== undefined) return known;
    const { fields, fixed } = this.plan.fieldsOf(type, this.sets, run);
    if (!fixed) run.keepFields(this, type, fields);
    else if (this.#type === null) {
      this.#type = type;
      this.#fields = fields;
    } else (this.#others ??= new Map()).set(type, fields);
    return fields;
  }
}

/** The nodes of an object of the response, by key. */
class CollectedFields {
  readonly fields = new Map<string, FieldNode[]>();
  /** True if the fields depend on variables. */
  conditional = false;
  readonly #visited = new Set<string>();

  constructor(
    private readonly plan: DocumentPlan,
    private readonly type: GraphQLObjectType,
    private readonly variables: Record<string, unknown>,
  ) {}

  add(set: SelectionSetNode): void {
    for (const selection of set.selections) {
      switch (selection.kind) {
        case "Field": {
          if (!this.#isIncluded(selection)) break;
          const key = selection.alias?.value ?? selection.name.value;
          const nodes = this.fields.get(key);
          if (nodes) nodes.push(selection);
          else this.fields.set(key, [selection]);
          break;
        }
        case "InlineFragment":
          if (this.#isIncluded(selection) && this.#applies(selection.typeCondition)) this.add(selection.selectionSet);
          break;
        case "FragmentSpread": {
          const name = selection.name.value;
          if (this.#visited.has(name) || !this.#isIncluded(selection)) break;
          this.#visited.add(name);
          const fragment = this.plan.fragments[name];
          if (fragment && this.#applies(fragment.typeCondition)) this.add(fragment.selectionSet);
        }
      }
    }
  }

  #isIncluded(node: SelectionNode): boolean {
    if (!node.directives?.length) return true;
    this.conditional ||= node.directives.some((each) => each.arguments?.some(({ value }) => value.kind === "Variable"));
    if (getDirectiveValues(GraphQLSkipDirective, node, this.variables)?.["if"] === true) return false;
    return getDirectiveValues(GraphQLIncludeDirective, node, this.variables)?.["if"] !== false;
  }

  #applies(typeCondition: NamedTypeNode | undefined): boolean {
    if (!typeCondition) return true;
    const condition = typeFromAST(this.plan.schema, typeCondition);
    return condition === this.type || (isAbstractType(condition) && this.plan.schema.isSubType(condition, this.type));
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

function fragmentsOf(document: DocumentNode): Readonly<Record<string, FragmentDefinitionNode>> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === "FragmentDefinition") fragments[definition.name.value] = definition;
  }
  return fragments;
}
