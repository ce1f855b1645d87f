import type {
  DocumentNode,
  GraphQLInterfaceType,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLUnionType,
  SelectionSetNode,
} from "graphql";
import { show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { GraphqlContext } from "../context.js";
import {
  defaultTypeResolver,
  extendSchema,
  GraphQLError,
  isInterfaceType,
  isObjectType,
  parse,
  valueFromASTUntyped,
} from "../graphql-js.js";
import { badInput } from "../models/filters.js";
import type { ReferenceResolver } from "../schema-like.js";
import { hasKey, readKey, readReference } from "./references.js";
import { argument, directivesIn, type SubgraphDocument } from "./subgraph-document.js";

type EntityType = GraphQLObjectType | GraphQLInterfaceType;

/** The types of objects that were found for references, for the union of all entities. */
const typesFound = new WeakMap<GraphqlContext, WeakMap<object, string>>();

/** Adds what a router asks a subgraph for: `_service`, and `_entities` if there are any. */
export function withEntities(
  schema: GraphQLSchema,
  { sdl, key }: SubgraphDocument,
  introspection: boolean,
): GraphQLSchema {
  const entities = new Map<string, Entity>();
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    const keys = keysOf(type, key);
    if (keys.length > 0) entities.set(type.name, new Entity(type, keys));
    else if (type.extensions["resolveReference"]) {
      throw new ValueError(`the type '${type.name}' has a function for references and no @key that is resolvable`);
    }
  }
  const members = [...entities].flatMap(([name, { type }]) => (isObjectType(type) ? [name] : []));
  const extended = extendSchema(schema, machinery(schema, members));
  const fields = extended.getQueryType()!.getFields();
  fields["_service"]!.resolve = () => {
    if (!introspection) throw new GraphQLError("The schema cannot be read: introspection is off.");
    return { sdl };
  };
  if (members.length === 0) return extended;
  const any = extended.getType("_Any") as GraphQLScalarType;
  any.parseValue = readRepresentation;
  any.parseLiteral = (node, variables) => readRepresentation(valueFromASTUntyped(node, variables));
  (extended.getType("_Entity") as GraphQLUnionType).resolveType = (value, context: GraphqlContext) =>
    typesFound.get(context)?.get(value as object);
  fields["_entities"]!.resolve = (_parent, { representations }, context, info) =>
    (representations as Representation[]).map(async (given) => {
      const entity = entities.get(given.__typename);
      if (entity === undefined) throw badInput(`There is no entity of the type ${show(given.__typename)}.`);
      return entity.find(given, context as GraphqlContext, info);
    });
  return extended;
}

function machinery(schema: GraphQLSchema, members: readonly string[]): DocumentNode {
  const query = schema.getQueryType()?.name;
  const entities = members.length === 0 ? "" : "_entities(representations: [_Any!]!): [_Entity]!";
  const types = members.length === 0 ? "" : `scalar _Any union _Entity = ${members.join(" | ")}`;
  const root = query === undefined ? "extend schema { query: Query } type Query" : `extend type ${query}`;
  return parse(`type _Service { sdl: String } ${types} ${root} { _service: _Service! ${entities} }`, {
    noLocation: true,
  });
}

interface Representation {
  readonly __typename: string;
}

function readRepresentation(value: unknown): Representation {
  const name = typeof value === "object" && value !== null && (value as Partial<Representation>).__typename;
  if (typeof name === "string") return value as Representation;
  throw new GraphQLError("A representation must be an object with __typename.");
}

interface Key {
  readonly fields: string;
  readonly selection: SelectionSetNode;
}

function keysOf(type: EntityType, name: string): Key[] {
  const nodes = directivesIn([type.astNode?.directives, type.extensionASTNodes.map(({ directives }) => directives)]);
  return nodes.flatMap((node) => {
    const resolvable = node.arguments?.find((each) => each.name.value === "resolvable")?.value;
    if (node.name.value !== name || (resolvable?.kind === "BooleanValue" && !resolvable.value)) return [];
    const fields = argument(node, "fields");
    try {
      return [{ fields, selection: readKey(fields) }];
    } catch (error) {
      throw new ValueError(`@key of the type '${type.name}' has no fields: ${(error as Error).message}`, {
        cause: error,
      });
    }
  });
}

class Entity {
  /** One function, or one for each key. */
  readonly #resolve: ReferenceResolver | Readonly<Record<string, ReferenceResolver>> | undefined;

  constructor(
    readonly type: EntityType,
    private readonly keys: readonly Key[],
  ) {
    this.#resolve = type.extensions["resolveReference"] as ReferenceResolver;
  }

  async find(given: Representation, context: GraphqlContext, info: GraphQLResolveInfo): Promise<unknown> {
    const { type } = this;
    const reference = readReference(type, given);
    const key = this.keys.find(({ selection }) => hasKey(selection, reference));
    if (key === undefined) {
      const wanted = this.keys.map(({ fields }) => `'${fields}'`).join(" or ");
      throw badInput(`A representation of ${type.name} needs ${wanted}.`);
    }
    const resolve = typeof this.#resolve === "function" ? this.#resolve : this.#resolve?.[key.fields];
    const found = resolve ? await resolve(reference, context, info) : reference;
    if (found === null || found === undefined || found instanceof Error) return found;
    if (typeof found !== "object") throw new TypeError(`a reference of ${type.name} gives an object or null`);
    remember(context, found, await this.#typeOf(found, context, info));
    return found;
  }

  async #typeOf(found: object, context: GraphqlContext, info: GraphQLResolveInfo): Promise<string> {
    if (isObjectType(this.type)) return this.type.name;
    return (await (this.type.resolveType ?? defaultTypeResolver)(found, context, info, this.type)) as string;
  }
}

function remember(context: GraphqlContext, found: object, type: string): void {
  let types = typesFound.get(context);
  if (types === undefined) typesFound.set(context, (types = new WeakMap()));
  const known = types.get(found);
  if (known !== undefined && known !== type) {
    throw new TypeError(`one object was found for references of ${known} and ${type}: return a copy`);
  }
  types.set(found, type);
}
