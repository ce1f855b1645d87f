import type { GraphqlContext } from "./context.js";

/**
 * The part of `GraphQLSchema` that identifies one. The types of graphql are not named: the declarations of Stoa must
 * compile where it is not installed.
 */
export interface SchemaLike {
  getQueryType(): unknown;
  getTypeMap(): object;
  getDirectives(): readonly unknown[];
}

/** The resolver of one field of a type in `typeDefs`. */
// biome-ignore lint/suspicious/noExplicitAny: parents and arguments are typed by the schema, which is a text.
export type FieldResolver = (parent: any, args: any, context: GraphqlContext, info: any) => unknown;

/** The part of a field in the cost of an operation. In a `GraphQLSchema`, the extensions of the field have it. */
export interface FieldCost {
  /** The cost of the field itself. Default 1. */
  readonly cost?: number;
  /** The argument that gives the number of items, or the number itself. Default: `first`, `last`, `limit` and the like. */
  readonly size?: string | number;
}

/** A field with a cost. */
export interface CostlyResolver extends FieldCost {
  readonly resolve?: FieldResolver;
}

/** A field of `Subscription`: the source of events, and the value of the field for each event. */
export interface SubscriptionResolver extends FieldCost {
  readonly subscribe: FieldResolver;
  /** Default: the member of the event that has the field's name. */
  readonly resolve?: FieldResolver;
}

/**
 * The fields of a type. An interface or union may have `__resolveType(value, context)`, an object type
 * `__isTypeOf(value, context)`, an entity of a federation `__resolveReference(reference, context)`.
 */
export interface TypeResolvers {
  readonly [field: string]: FieldResolver | SubscriptionResolver | CostlyResolver;
}

/** Finds the object of a reference to an entity: `{ __typename, id }`. */
// biome-ignore lint/suspicious/noExplicitAny: the members are fields of the type, which are typed by texts.
export type ReferenceResolver<Found = unknown> = (reference: any, context: GraphqlContext, info?: unknown) => Found;

/** A scalar of the application's own. */
export interface ScalarResolver {
  /** The value of the program as JSON. */
  readonly serialize?: (value: unknown) => unknown;
  /** The value of a variable, as the program uses it. */
  readonly parseValue?: (value: unknown) => unknown;
}

/** The values of an enum, as the program uses them: `{ RED: "#f00" }`. */
export interface EnumValues {
  readonly values: Readonly<Record<string, unknown>>;
}

/** Resolvers of `typeDefs`, by type. */
export interface Resolvers {
  readonly [type: string]: TypeResolvers | ScalarResolver | EnumValues;
}
