import { config, type OptionsOf, option, type SettingsOf } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is, isPlainObject } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { asHooks, type GraphqlHooks } from "./hooks.js";
import { readUploads, type UploadOptions, type UploadSettings } from "./http/upload-options.js";
import { type GraphqlLimits, limitOptions } from "./limits.js";
import { type PersistedOptions, type PersistedSettings, readPersisted } from "./persisted-options.js";
import type { Resolvers, SchemaLike } from "./schema-like.js";
import { type SubscriptionOptions, type SubscriptionSettings, subscriptionOptions } from "./subscriptions/options.js";

const isSchema: Check<SchemaLike> = (value) =>
  typeof (value as Partial<SchemaLike> | null)?.getQueryType === "function" ? undefined : "a GraphQLSchema";

const areResolvers: Check<Resolvers> = (value) => (isPlainObject(value) ? undefined : "an object of resolvers by type");

const asList = (given: string | readonly string[]): readonly string[] => (typeof given === "string" ? [given] : given);

/** The settings of the GraphQL endpoint. */
export class GraphQLConfig extends config(
  "GraphQLConfig",
  {
    /** The path of the endpoint. Default `/graphql`. */
    path: option(is.path, "/graphql"),
    /** Serves a page to try operations, to browsers that ask for the path. Default: true in development, false in production. */
    playground: option(is.boolean),
    /** Lets clients read the schema. Default: true in development, false in production. */
    introspection: option(is.boolean),
    /** A `GraphQLSchema` of any origin: graphql, Pothos, and others. In place of `typeDefs`. */
    schema: option(isSchema),
    /** The schema in GraphQL's own language, with `resolvers`. */
    typeDefs: option.made(is.either(is.text, is.strings), asList, []),
    /** Functions for the fields of `typeDefs`: `{ Query: { hello: () => "hello" } }`. */
    resolvers: option(areResolvers, {}),
    /** Bounds on the operations of clients; on by default. */
    limits: option.made<EitherSpelling<GraphqlLimits>, SettingsOf<typeof limitOptions.fields>>(
      is.object,
      (given) => limitOptions.read([given]),
      limitOptions.read([]),
    ),
    /** Hides the messages of unexpected errors from clients. Default: true, except in debug mode. */
    maskErrors: option(is.boolean),
    /** Operations that clients name by a hash or an id. */
    persisted: option.made<EitherSpelling<PersistedOptions>, PersistedSettings>(
      is.object,
      readPersisted,
      readPersisted({}),
    ),
    /** Functions around the steps of each operation, or a list of such objects, of which the first is the outermost. */
    hooks: option.made<GraphqlHooks | readonly GraphqlHooks[], readonly GraphqlHooks[]>(
      is.either(is.object, is.list(is.object)),
      asHooks,
      [],
    ),
    /** Subscriptions over WebSocket and server-sent events. */
    subscriptions: option.made<EitherSpelling<SubscriptionOptions>, SubscriptionSettings>(
      is.object,
      (given) => subscriptionOptions.read([given]),
      subscriptionOptions.read([]),
    ),
    /** Serves a subgraph of Apollo Federation 2: `_service`, and `_entities` for types with `@key`. Default false. */
    federation: option(is.boolean, false),
    /** Lets clients take results in parts, with `@defer` and `@stream`. Default false. */
    incremental: option(is.boolean, false),
    /** Accepts files in multipart requests, as values of the scalar `Upload`. Default false. */
    uploads: option.made<boolean | EitherSpelling<UploadOptions>, UploadSettings | null>(
      is.either(is.boolean, is.object),
      (given) => readUploads(given as boolean | UploadOptions),
      null,
    ),
    /** Bytes of memory for documents that were parsed and validated, with their plans. Default 33,554,432. */
    cacheSize: option(is.integer(0), 33_554_432),
  },
  {
    order: ["path", "playground", "introspection"],
    refine(_settings, { schema, typeDefs, resolvers, federation }) {
      if (schema !== undefined && federation) {
        throw new ValueError(
          "option 'federation' in GraphQLConfig goes with typeDefs and app.graphql: a schema brings its own _service",
        );
      }
      if (schema !== undefined && (typeDefs !== undefined || resolvers !== undefined)) {
        throw new ValueError("option 'schema' in GraphQLConfig goes without 'typeDefs' and 'resolvers'");
      }
      if (resolvers !== undefined && typeDefs === undefined) {
        throw new ValueError("option 'resolvers' in GraphQLConfig needs 'typeDefs'");
      }
    },
  },
) {}

export interface GraphqlOptions extends OptionsOf<typeof GraphQLConfig.options.fields> {}
