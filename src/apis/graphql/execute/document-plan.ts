import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  FragmentSpreadNode,
  GraphQLField,
  GraphQLObjectType,
  GraphQLSchema,
  InlineFragmentNode,
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
import { deferDirective } from "./incremental-directives.js";
import type { FieldPlan, HookedResolvers, Run, Selection, SplitFields } from "./plan.js";

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
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** True if the document has `@defer` or `@stream`. */
  readonly hasParts: boolean;
  readonly #grow: (bytes: number) => void;
  readonly #hooked: HookedResolvers | null;
  readonly #fields = new Map<string, FieldPlan>();
  readonly #ids = new Map<FieldNode, number>();
  #bytesLeft: number;
  #slots = 0;

  /** `grow` is called with the number of bytes that the plans take more. */
  constructor(
    readonly schema: GraphQLSchema,
    document: DocumentNode,
    grow: (bytes: number) => void = () => {},
    hooked: HookedResolvers | null = null,
  ) {
    this.fragments = fragmentsOf(document);
    this.hasParts = /@\s*(?:defer|stream)\b/.test(document.loc?.source.body ?? "@defer");
    this.#grow = grow;
    this.#hooked = hooked;
    this.#bytesLeft = maxBytes + maxBytesPerCharacter * (document.loc?.end ?? 0);
  }

  selection(sets: readonly SelectionSetNode[]): Selection {
    return new PlannedSelection(this, sets);
  }

  /** The same with the fields of deferred fragments apart. A field that other fragments have, too, is not deferred. */
  splitOf(
    type: GraphQLObjectType,
    sets: readonly SelectionSetNode[],
    run: Run,
  ): { readonly split: SplitFields; readonly fixed: boolean } {
    const collected = new CollectedFields(this, type, run.variables, true);
    for (const set of sets) collected.add(set);
    const fields: FieldPlan[] = [];
    const deferred = new Map<Usage, FieldPlan[]>();
    let fixed = !collected.conditional;
    for (const [key, nodes] of collected.fields) {
      const definition = definitionOf(this.schema, type, nodes[0]!.name.value);
      if (!definition) continue;
      const { plan, kept } = this.#field(key, nodes, type, definition);
      fixed &&= kept;
      const usage = collected.usages.get(key) ?? null;
      const known = usage && deferred.get(usage);
      if (usage === null) fields.push(plan);
      else if (known) known.push(plan);
      else deferred.set(usage, [plan]);
    }
    const split = { fields, deferred: [...deferred].map(([{ label }, list]) => ({ label, fields: list })) };
    return { split, fixed: fixed && this.#keep(listBytes * (1 + deferred.size) + collected.fields.size * entryBytes) };
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
    const slot = kept ? this.#slots : -1;
    const plan = fieldPlan(key, nodes, type, definition, this.selection(sets), slot, this.#hooked);
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
  #splits: Map<GraphQLObjectType, SplitFields> | null = null;

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

  splitOf(run: Run, type: GraphQLObjectType): SplitFields {
    const known = this.#splits?.get(type) ?? run.splits?.get(this)?.get(type);
    if (known !== undefined) return known;
    const { split, fixed } = this.plan.splitOf(type, this.sets, run);
    if (fixed) (this.#splits ??= new Map()).set(type, split);
    else {
      const splits = (run.splits ??= new Map());
      const own = splits.get(this) ?? new Map<GraphQLObjectType, SplitFields>();
      splits.set(this, own.set(type, split));
    }
    return split;
  }
}

/** A fragment with `@defer`. */
interface Usage {
  readonly label: string | null;
}

/** The nodes of an object of the response, by key. */
class CollectedFields {
  readonly fields = new Map<string, FieldNode[]>();
  /** True if the fields depend on variables. */
  conditional = false;
  /** The deferred fragments of fields that are in one such fragment alone; null for other fields. */
  readonly usages = new Map<string, Usage | null>();
  readonly #visited = new Map<Usage | null, Set<string>>();

  constructor(
    private readonly plan: DocumentPlan,
    private readonly type: GraphQLObjectType,
    private readonly variables: Record<string, unknown>,
    private readonly deferring = false,
  ) {}

  add(set: SelectionSetNode, usage: Usage | null = null): void {
    for (const selection of set.selections) {
      switch (selection.kind) {
        case "Field": {
          if (!this.#isIncluded(selection)) break;
          const key = selection.alias?.value ?? selection.name.value;
          const nodes = this.fields.get(key);
          if (!nodes) this.fields.set(key, [selection]);
          // A fragment can be visited twice: once deferred.
          else if (!this.deferring || !nodes.includes(selection)) nodes.push(selection);
          if (this.deferring) {
            this.usages.set(key, nodes === undefined || this.usages.get(key) === usage ? usage : null);
          }
          break;
        }
        case "InlineFragment":
          if (this.#isIncluded(selection) && this.#applies(selection.typeCondition))
            this.add(selection.selectionSet, this.#usageOf(selection, usage));
          break;
        case "FragmentSpread": {
          const name = selection.name.value;
          if (!this.#isIncluded(selection)) break;
          const inner = this.#usageOf(selection, usage);
          let visited = this.#visited.get(inner);
          if (visited === undefined) this.#visited.set(inner, (visited = new Set()));
          if (visited.has(name)) break;
          visited.add(name);
          const fragment = this.plan.fragments[name];
          if (fragment && this.#applies(fragment.typeCondition)) this.add(fragment.selectionSet, inner);
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

  /** A fragment inside of a deferred one comes with it. */
  #usageOf(node: FragmentSpreadNode | InlineFragmentNode, usage: Usage | null): Usage | null {
    if (!this.deferring || usage !== null || !node.directives?.length) return usage;
    const given = getDirectiveValues(deferDirective, node, this.variables);
    return given && given["if"] !== false ? { label: (given["label"] as string | null | undefined) ?? null } : null;
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
