import type { DefinitionNode, DirectiveNode, DocumentNode } from "graphql";
import { ValueError } from "../../../kit/value-error.js";
import { parse, print, valueFromASTUntyped } from "../graphql-js.js";

const specification = "https://specs.apollo.dev/federation/";
const version = "v2.7";

const anywhere =
  "FIELD_DEFINITION | OBJECT | INTERFACE | UNION | ARGUMENT_DEFINITION | SCALAR | ENUM | ENUM_VALUE | INPUT_OBJECT | INPUT_FIELD_DEFINITION";
const access = "FIELD_DEFINITION | OBJECT | INTERFACE | SCALAR | ENUM";

/** The directives of Apollo Federation 2 for subgraphs: their arguments and places. */
const directives: Readonly<Record<string, string>> = {
  key: "(fields: federation__FieldSet!, resolvable: Boolean = true) repeatable on OBJECT | INTERFACE",
  requires: "(fields: federation__FieldSet!) on FIELD_DEFINITION",
  provides: "(fields: federation__FieldSet!) on FIELD_DEFINITION",
  external: "(reason: String) on OBJECT | FIELD_DEFINITION",
  shareable: " repeatable on OBJECT | FIELD_DEFINITION",
  override: "(from: String!, label: String) on FIELD_DEFINITION",
  extends: " on OBJECT | INTERFACE",
  inaccessible: ` on ${anywhere}`,
  tag: `(name: String!) repeatable on ${anywhere} | SCHEMA`,
  composeDirective: "(name: String!) repeatable on SCHEMA",
  interfaceObject: " on OBJECT",
  authenticated: ` on ${access}`,
  requiresScopes: `(scopes: [[federation__Scope!]!]!) on ${access}`,
  policy: `(policies: [[federation__Policy!]!]!) on ${access}`,
};

const link = `
  directive @link(url: String!, as: String, for: link__Purpose, import: [link__Import]) repeatable on SCHEMA
  enum link__Purpose { SECURITY EXECUTION }
  scalar link__Import
`;

/** The definitions of a subgraph. */
export interface SubgraphDocument {
  /** Those of the program, with the directives of the federation defined. */
  readonly definitions: readonly DefinitionNode[];
  /** Those of the program as a text, from which a supergraph is composed. */
  readonly sdl: string;
  /** The name of `@key`, which an import can change. */
  readonly key: string;
}

/** Links the definitions of a program to the federation, unless they do that themselves. */
export function subgraphDocument(given: readonly DefinitionNode[]): SubgraphDocument {
  const used = directivesIn(given);
  const own = used.find((node) => node.name.value === "link" && argument(node, "url").startsWith(specification));
  const names = new Map(Object.keys(directives).map((name) => [name, own ? `federation__${name}` : name]));
  if (own) for (const [name, local] of importsOf(own)) names.set(name, local);
  const isUsed = (name: string): boolean => used.some((node) => node.name.value === names.get(name));
  const needed = Object.keys(directives).filter(isUsed);
  const imports = needed.map((name) => `"@${name}"`).join(", ");
  const linked = own
    ? given
    : [...parsed(`extend schema @link(url: "${specification}${version}", import: [${imports}])`), ...given];
  const machinery = needed.map((name) => `directive @${names.get(name)!}${directives[name]!}`).join("\n");
  const scalars = ["FieldSet", "Scope", "Policy"].filter((name) => machinery.includes(`federation__${name}!`));
  const added = parsed(`${link}${machinery}\n${scalars.map((name) => `scalar federation__${name}`).join("\n")}`);
  const known = new Set(given.map(keyOf));
  return {
    definitions: [...withoutOrphans(linked), ...added.filter((node) => !known.has(keyOf(node)))],
    sdl: print({ kind: "Document", definitions: linked } as DocumentNode),
    key: names.get("key")!,
  };
}

/** A subgraph may extend types that other subgraphs define; here they are types like others. */
function withoutOrphans(definitions: readonly DefinitionNode[]): DefinitionNode[] {
  const known = new Set(definitions.map(keyOf));
  return definitions.map((node) => {
    if (!/TypeExtension$/.test(node.kind)) return node;
    const type = { ...node, kind: node.kind.replace("Extension", "Definition") } as DefinitionNode;
    if (known.has(keyOf(type))) return node;
    known.add(keyOf(type));
    return type;
  });
}

/** Types have their names apart from directives. Extensions define nothing. */
function keyOf(node: DefinitionNode): string {
  const name = "name" in node && node.name ? node.name.value : "";
  if (node.kind.endsWith("Extension")) return "";
  return node.kind === "DirectiveDefinition" ? `@${name}` : name;
}

/** The directives that a `@link` imports, by their names in the specification. */
function importsOf(node: DirectiveNode): [name: string, local: string][] {
  const value = node.arguments?.find(({ name }) => name.value === "import")?.value;
  const list: unknown = value ? valueFromASTUntyped(value) : [];
  if (!Array.isArray(list)) throw new ValueError("'import' of @link must be a list");
  return list.map((each: unknown) => {
    const { name, as = name } = (typeof each === "string" ? { name: each } : each) as { name: string; as?: string };
    return [String(name).replace("@", ""), String(as).replace("@", "")];
  });
}

export function directivesIn(value: unknown): DirectiveNode[] {
  if (typeof value !== "object" || value === null) return [];
  if ((value as { kind?: string }).kind === "Directive") return [value as DirectiveNode];
  return Object.values(value).flatMap(directivesIn);
}

/** An argument of a directive that is a text. */
export function argument(node: DirectiveNode, name: string): string {
  const value = node.arguments?.find((each) => each.name.value === name)?.value;
  return value?.kind === "StringValue" ? value.value : "";
}

function parsed(text: string): readonly DefinitionNode[] {
  return parse(text, { noLocation: true }).definitions;
}
