import type { DocumentNode, FieldNode, FragmentDefinitionNode, SelectionNode, SelectionSetNode } from "graphql";
import { GraphQLError } from "./graphql-js.js";
import type { GraphqlLimits } from "./limits.js";

/** The bounds of the work to check that fields can be merged, which grows with the square of equal fields. */
const maxMergedFields = 20_000;
const maxMergedPairs = 20_000;

/**
 * Checks the limits that need no schema, before validation: some of its rules take time that grows with the square of a
 * document's size. Everything here takes time in proportion to the document, or to a fixed bound.
 */
export function checkDocument(document: DocumentNode, limits: Required<GraphqlLimits>): GraphQLError | null {
  try {
    const check = new DocumentCheck(document, limits);
    check.run(document);
    return null;
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

/** The error of a document that exceeds a limit. */
export function limitError(message: string, limit: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "LIMIT_EXCEEDED", limit } });
}

class DocumentCheck {
  readonly #limits: Required<GraphqlLimits>;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  /** The depth of each fragment; undefined while it is being computed. */
  readonly #depths = new Map<string, number | undefined>();
  #aliases = 0;
  #directives = 0;
  #mergedFields = 0;
  #mergedPairs = 0;

  constructor(document: DocumentNode, limits: Required<GraphqlLimits>) {
    this.#limits = limits;
    for (const definition of document.definitions) {
      if (definition.kind === "FragmentDefinition") this.#fragments.set(definition.name.value, definition);
    }
  }

  run(document: DocumentNode): void {
    for (const definition of document.definitions) {
      if (definition.kind !== "OperationDefinition" && definition.kind !== "FragmentDefinition") continue;
      this.#count(definition.directives?.length ?? 0);
      for (const variable of definition.variableDefinitions ?? []) this.#count(variable.directives?.length ?? 0);
      const depth =
        definition.kind === "FragmentDefinition"
          ? this.#depthOf(definition)
          : this.#depth(definition.selectionSet, false);
      this.#checkDepth(depth);
      this.#merge([definition.selectionSet]);
    }
  }

  #checkDepth(depth: number): void {
    const { depth: limit } = this.#limits;
    if (limit > 0 && depth > limit) throw limitError(`The document is nested deeper than ${limit} fields.`, "depth");
  }

  #count(directives: number): void {
    const { directives: limit } = this.#limits;
    this.#directives += directives;
    if (limit > 0 && this.#directives > limit) {
      throw limitError(`The document has more than ${limit} directives.`, "directives");
    }
  }

  /** Counts aliases and directives on the way: each selection set of the document is visited once. */
  #depth(set: SelectionSetNode, introspection: boolean): number {
    let deepest = 0;
    for (const selection of set.selections) {
      this.#count(selection.directives?.length ?? 0);
      const depth = this.#depthOfSelection(selection, introspection);
      if (depth > deepest) deepest = depth;
    }
    return deepest;
  }

  #depthOfSelection(selection: SelectionNode, introspection: boolean): number {
    if (selection.kind === "InlineFragment") return this.#depth(selection.selectionSet, introspection);
    if (selection.kind === "FragmentSpread") {
      const fragment = this.#fragments.get(selection.name.value);
      return fragment ? this.#depthOf(fragment) : 0;
    }
    if (selection.alias && ++this.#aliases > this.#limits.aliases && this.#limits.aliases > 0) {
      throw limitError(`The document has more than ${this.#limits.aliases} aliases.`, "aliases");
    }
    if (!selection.selectionSet) return 1;
    const inner = introspection || isIntrospection(selection);
    const depth = this.#depth(selection.selectionSet, inner);
    // The description of the schema is nested deeper than applications are; a rule of graphql bounds its lists.
    return inner ? 1 : depth + 1;
  }

  #depthOf(fragment: FragmentDefinitionNode): number {
    const name = fragment.name.value;
    const known = this.#depths.get(name);
    if (known !== undefined) return known;
    if (this.#depths.has(name))
      throw new GraphQLError(`Cannot spread fragment "${name}" within itself.`, { nodes: fragment });
    this.#depths.set(name, undefined);
    const inner = fragment.typeCondition.name.value.startsWith("__");
    const depth = this.#depth(fragment.selectionSet, inner);
    this.#depths.set(name, depth);
    return depth;
  }

  /** Counts the pairs of fields that validation compares: fields with one key in the same object of the response. */
  #merge(sets: readonly SelectionSetNode[]): void {
    const groups = new Map<string, { count: number; sets: SelectionSetNode[] }>();
    const visited = new Set<string>();
    const visit = (set: SelectionSetNode): void => {
      for (const selection of set.selections) {
        if (++this.#mergedFields > maxMergedFields) throw tooComplex();
        if (selection.kind === "InlineFragment") visit(selection.selectionSet);
        else if (selection.kind === "FragmentSpread") {
          const name = selection.name.value;
          const fragment = visited.has(name) ? undefined : this.#fragments.get(name);
          visited.add(name);
          if (fragment) visit(fragment.selectionSet);
        } else {
          const key = selection.alias?.value ?? selection.name.value;
          let group = groups.get(key);
          if (!group) groups.set(key, (group = { count: 0, sets: [] }));
          this.#mergedPairs += group.count++;
          if (this.#mergedPairs > maxMergedPairs) throw tooComplex();
          if (selection.selectionSet) group.sets.push(selection.selectionSet);
        }
      }
    };
    for (const set of sets) visit(set);
    for (const group of groups.values()) if (group.sets.length > 0) this.#merge(group.sets);
  }
}

function isIntrospection(field: FieldNode): boolean {
  return field.name.value === "__schema" || field.name.value === "__type";
}

function tooComplex(): GraphQLError {
  return limitError("The document repeats too many fields.", "complexity");
}
