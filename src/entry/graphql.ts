export type { FieldOptions, ObjectType } from "../apis/graphql/build/object-type.js";
export type { NamedType, SchemaBuilder } from "../apis/graphql/build/schema-builder.js";
export type { Scalars, TypeUse } from "../apis/graphql/build/text-types.js";
export { GraphQLConfig, type GraphqlOptions } from "../apis/graphql/config.js";
export { GraphqlContext } from "../apis/graphql/context.js";
export {
  type DocumentLike,
  type GraphqlHooks,
  GraphqlResult,
  type HookedField,
  type OperationCall,
  type ResolverCall,
  type ResolverHook,
  type ValidationRuleLike,
} from "../apis/graphql/hooks.js";
export type { UploadOptions } from "../apis/graphql/http/upload-options.js";
export type { GraphqlLimits } from "../apis/graphql/limits.js";
export type { Loader, LoaderOptions } from "../apis/graphql/loader.js";
export { type BatchFunction, loader } from "../apis/graphql/make-loader.js";
export type { ModelTypeOptions, MutationOptions } from "../apis/graphql/models/options.js";
export type { PersistedOptions } from "../apis/graphql/persisted-options.js";
export { type GuardedResolver, type ResolverOptions, resolver } from "../apis/graphql/resolver.js";
export type { FieldResolver, Resolvers, SchemaLike } from "../apis/graphql/schema-like.js";
export type { SubscriptionOptions } from "../apis/graphql/subscriptions/options.js";
export type { FormFile } from "../http/body/form.js";
