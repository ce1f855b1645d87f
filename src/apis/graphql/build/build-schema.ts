import type { DocumentNode, GraphQLObjectType, GraphQLScalarType } from "graphql";
import type { Host } from "../../../feature/host.js";
import { FormFile } from "../../../http/body/form.js";
import { is, isPlainObject } from "../../../kit/options.js";
import { didYouMean } from "../../../kit/suggest.js";
import { ValueError } from "../../../kit/value-error.js";
import type { GraphQLConfig } from "../config.js";
import { deferDirective, streamDirective } from "../execute/incremental-directives.js";
import { withEntities } from "../federation/entities.js";
import { subgraphDocument } from "../federation/subgraph-document.js";
import {
  buildASTSchema,
  GraphQLEnumType,
  GraphQLError,
  GraphQLSchema,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  isScalarType,
  parse,
  validateSchema,
  valueFromASTUntyped,
} from "../graphql-js.js";
import { addModels } from "../models/add-models.js";
import { prepareResolver } from "../resolver.js";
import type {
  EnumValues,
  FieldCost,
  Resolvers,
  ScalarResolver,
  SubscriptionResolver,
  TypeResolvers,
} from "../schema-like.js";
import type { SchemaBuilder } from "./schema-builder.js";

/** The schema of an application, from whichever form it was given in. A mistake in it ends the start. */
export function buildApplicationSchema(host: Host, config: GraphQLConfig, builder: SchemaBuilder): GraphQLSchema {
  const introspection = config.introspection ?? host.env === "development";
  const made =
    config.schema === undefined ? fromDefinitions(config, builder, introspection) : given(config.schema, builder);
  const schema = config.incremental ? withIncremental(made) : made;
  const [error] = validateSchema(schema);
  if (error) throw new ValueError(`the GraphQL schema is not valid: ${error.message}`, { cause: error });
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const owner = `the field ${type.name}.${field.name}`;
      prepareResolver(field.resolve, host, owner);
      prepareResolver(field.subscribe, host, owner);
    }
  }
  return schema;
}

function withIncremental(schema: GraphQLSchema): GraphQLSchema {
  const added = [deferDirective, streamDirective].filter(({ name }) => !schema.getDirective(name));
  return new GraphQLSchema({ ...schema.toConfig(), directives: [...schema.getDirectives(), ...added] });
}

function given(schema: unknown, builder: SchemaBuilder): GraphQLSchema {
  if (!(schema instanceof GraphQLSchema)) {
    throw new ValueError("the schema was made by another copy of the package 'graphql': npm ls graphql");
  }
  if (builder.used) throw new ValueError("definitions of app.graphql go with typeDefs, not with a schema");
  return schema;
}

function fromDefinitions(
  { typeDefs, resolvers, federation }: GraphQLConfig,
  builder: SchemaBuilder,
  introspection: boolean,
): GraphQLSchema {
  if (typeDefs.length === 0 && !builder.used) {
    throw new ValueError("enableGraphql() needs a schema, typeDefs, or definitions with app.graphql");
  }
  addModels(builder, federation);
  const own = parsed("typeDefs", typeDefs.join("\n"));
  const defined = new Set(
    own.definitions.flatMap((node) =>
      "name" in node && node.name && !node.kind.endsWith("Extension") ? [node.name.value] : [],
    ),
  );
  const built = parsed(
    "the definitions of app.graphql",
    builder.definitions((name) => defined.has(name)),
  );
  const definitions = [...own.definitions, ...built.definitions];
  const names = new Set(definitions.flatMap((node) => ("name" in node && node.name ? [node.name.value] : [])));
  const needed = Object.keys(scalars).filter(
    (name) => !names.has(name) && mentions({ kind: own.kind, definitions }, name),
  );
  const extra = parsed("scalars", needed.map((name) => `"${scalars[name]!.description}" scalar ${name}`).join("\n"));
  const all = [...definitions, ...extra.definitions];
  const subgraph = federation ? subgraphDocument(all) : null;
  let schema: GraphQLSchema;
  try {
    schema = buildASTSchema({ kind: own.kind, definitions: subgraph?.definitions ?? all });
  } catch (error) {
    const { message } = error as Error;
    const cure = message.includes('directive "@key"') ? " Set federation: true." : "";
    throw new ValueError(`the GraphQL schema is not valid: ${message}${cure}`, { cause: error });
  }
  for (const name of needed) attachScalar(schema.getType(name) as GraphQLScalarType, scalars[name]!);
  attach(schema, builder.resolvers());
  attach(schema, resolvers);
  return subgraph ? withEntities(schema, subgraph, introspection) : schema;
}

function parsed(what: string, text: string): DocumentNode {
  if (text.trim() === "") return { kind: "Document", definitions: [] } as unknown as DocumentNode;
  try {
    return parse(text, { noLocation: true });
  } catch (error) {
    throw new ValueError(`${what} cannot be parsed: ${(error as Error).message}`, { cause: error });
  }
}

/** True if a document uses a type of this name. */
function mentions(document: Pick<DocumentNode, "definitions"> & { kind: unknown }, name: string): boolean {
  const visit = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    if (Array.isArray(value)) return value.some(visit);
    const node = value as { kind?: string; name?: { value?: string } };
    if (node.kind === "NamedType" && node.name?.value === name) return true;
    return Object.values(value).some(visit);
  };
  return visit(document.definitions);
}

function attach(schema: GraphQLSchema, resolvers: Resolvers): void {
  for (const [name, members] of Object.entries(resolvers)) {
    if (Object.keys(members).length === 0) continue;
    const type = schema.getType(name);
    if (!type)
      throw new ValueError(
        `resolvers are given for the unknown type '${name}'${didYouMean(name, Object.keys(schema.getTypeMap()))}`,
      );
    if (isScalarType(type)) attachScalar(type, members as ScalarResolver);
    else if (type instanceof GraphQLEnumType) attachValues(type, members as EnumValues);
    else if (isObjectType(type) || isAbstractType(type))
      attachFields(type, members as Record<string, TypeResolvers[string]>);
    else throw new ValueError(`the type '${name}' takes no resolvers`);
  }
}

function attachFields(
  type: GraphQLObjectType | Extract<ReturnType<GraphQLSchema["getType"]>, { resolveType?: unknown }>,
  members: TypeResolvers,
): void {
  const fields = isObjectType(type) || isInterfaceType(type) ? type.getFields() : {};
  for (const [name, given] of Object.entries(members)) {
    if (name === "__resolveType" && !isObjectType(type)) type.resolveType = given as never;
    else if (name === "__isTypeOf" && isObjectType(type)) type.isTypeOf = given as never;
    else if (name === "__resolveReference") type.extensions = { ...type.extensions, resolveReference: given };
    else {
      const field = fields[name];
      if (!field)
        throw new ValueError(
          `a resolver is given for the unknown field '${type.name}.${name}'${didYouMean(name, Object.keys(fields))}`,
        );
      if (typeof given === "function") field.resolve = given as never;
      else if (isPlainObject(given) && ("subscribe" in given || "cost" in given || "size" in given)) {
        const { subscribe, resolve, cost, size } = given as Partial<SubscriptionResolver> & FieldCost;
        checkCost(`the resolver of '${type.name}.${name}'`, { cost, size }, field.args);
        if (subscribe) field.subscribe = subscribe as never;
        if (resolve) field.resolve = resolve as never;
        field.extensions = { ...field.extensions, cost, size };
      } else throw new ValueError(`the resolver of '${type.name}.${name}' must be a function`);
    }
  }
}

function checkCost(
  owner: string,
  { cost, size }: { cost: unknown; size: unknown },
  args: readonly { readonly name: string }[],
): void {
  const isCount = (value: unknown) => value === undefined || is.number(0)(value) === undefined;
  if (!isCount(cost)) throw new ValueError(`option 'cost' of ${owner} must be a number that is not negative`);
  if (typeof size !== "string" && !isCount(size)) {
    throw new ValueError(`option 'size' of ${owner} must be the name of an argument, or a number`);
  }
  if (typeof size === "string" && !args.some(({ name }) => name === size)) {
    throw new ValueError(`option 'size' of ${owner} names the unknown argument '${size}'`);
  }
}

function attachScalar(type: GraphQLScalarType, { serialize, parseValue }: ScalarResolver): void {
  if (serialize) type.serialize = serialize;
  if (!parseValue) return;
  type.parseValue = parseValue;
  type.parseLiteral = (node, variables) => parseValue(valueFromASTUntyped(node, variables));
}

function attachValues(type: GraphQLEnumType, { values }: EnumValues): void {
  for (const [name, value] of Object.entries(values)) {
    const known = type.getValue(name);
    if (!known) throw new ValueError(`the enum '${type.name}' has no value '${name}'`);
    known.value = value;
  }
}

/** The scalars that Stoa knows beside those of GraphQL. A schema that uses one by name need not define it. */
const scalars: Readonly<Record<string, ScalarResolver & { readonly description: string }>> = {
  DateTime: {
    description: "A point in time, as ISO 8601 with a time zone.",
    serialize(value) {
      const date =
        value instanceof Date ? value : typeof value === "string" || typeof value === "number" ? new Date(value) : null;
      if (date === null || Number.isNaN(date.getTime())) throw new TypeError("DateTime cannot represent the value");
      return date.toISOString();
    },
    parseValue(value) {
      const date = typeof value === "string" && dateTime.test(value) ? new Date(value) : null;
      if (date === null || Number.isNaN(date.getTime())) throw wrong("DateTime", "ISO 8601 with a time zone");
      return date;
    },
  },
  BigInt: {
    description: "A whole number of any size, as a string.",
    serialize: (value) => String(value),
    parseValue(value) {
      if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
      if (typeof value === "string" && /^-?\d{1,100}$/.test(value)) return BigInt(value);
      throw wrong("BigInt", "a whole number");
    },
  },
  Upload: {
    description: "A file of a multipart request.",
    serialize() {
      throw new TypeError("Upload is a type of arguments");
    },
    parseValue(value) {
      if (value instanceof FormFile) return value;
      throw wrong("Upload", "a file of a multipart request");
    },
  },
  JSON: { description: "Any JSON value.", serialize: (value) => value, parseValue: (value) => value },
};

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

function wrong(name: string, wanted: string): GraphQLError {
  return new GraphQLError(`${name} must be ${wanted}.`);
}
