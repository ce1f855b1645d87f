/*
 * The package graphql. It is imported here alone, and in a way whose failure is handled, so that a bundler accepts
 * applications without it.
 */

import { notInstalled } from "../../kit/optional-package.js";

const graphql = await import("graphql").catch(notInstalled);

export const {
  buildASTSchema,
  createSourceEventStream,
  defaultFieldResolver,
  defaultTypeResolver,
  DirectiveLocation,
  extendSchema,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  getVariableValues,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLEnumType,
  GraphQLError,
  GraphQLFloat,
  GraphQLID,
  GraphQLIncludeDirective,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLSchema,
  GraphQLSkipDirective,
  GraphQLString,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  locatedError,
  NoSchemaIntrospectionCustomRule,
  parse,
  print,
  SchemaMetaFieldDef,
  specifiedRules,
  typeFromAST,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  validate,
  validateSchema,
  valueFromAST,
  valueFromASTUntyped,
} = graphql;

export const { inspect } = await import("graphql/jsutils/inspect.js").catch(notInstalled);

export type GraphQLEnumType = import("graphql").GraphQLEnumType;
export type GraphQLError = import("graphql").GraphQLError;
export type GraphQLSchema = import("graphql").GraphQLSchema;
