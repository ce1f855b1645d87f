import type { ConfigOf } from "../../internal/config-of.js";
import { type EitherSpelling, type SnakeCase, snakeCase } from "../../internal/names.js";
import { type Checks, is, isPlainObject, readCall } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { type GraphqlLimits, readLimits } from "./limits.js";
import { type PersistedOptions, type PersistedSettings, readPersisted } from "./persisted-options.js";
import type { Resolvers, SchemaLike } from "./schema-like.js";
import { readSubscriptions, type SubscriptionOptions, type SubscriptionSettings } from "./subscriptions/options.js";

export interface GraphqlOptions {
  /** The path of the endpoint. Default `/graphql`. */
  path?: string;
  /** Serves a page to try operations, to browsers that ask for the path. Default: true in development, false in production. */
  playground?: boolean;
  /** Lets clients read the schema. Default: true in development, false in production. */
  introspection?: boolean;
  /** A `GraphQLSchema` of any origin: graphql, Pothos, and others. In place of `typeDefs`. */
  schema?: SchemaLike;
  /** The schema in GraphQL's own language, with `resolvers`. */
  typeDefs?: string | readonly string[];
  /** Functions for the fields of `typeDefs`: `{ Query: { hello: () => "hello" } }`. */
  resolvers?: Resolvers;
  /** Bounds on the operations of clients; on by default. */
  limits?: EitherSpelling<GraphqlLimits>;
  /** Hides the messages of unexpected errors from clients. Default: true, except in debug mode. */
  maskErrors?: boolean;
  /** Operations that clients name by a hash or an id. */
  persisted?: EitherSpelling<PersistedOptions>;
  /** Subscriptions over WebSocket and server-sent events. */
  subscriptions?: EitherSpelling<SubscriptionOptions>;
  /** Bytes of memory for documents that were parsed and validated. Default 33,554,432. */
  cacheSize?: number;
}

const checks: Checks<GraphqlOptions> = {
  path: is.path,
  playground: is.boolean,
  introspection: is.boolean,
  schema: (value) => (isSchema(value) ? undefined : "a GraphQLSchema"),
  typeDefs: is.either(is.text, is.strings),
  resolvers: (value) => (isPlainObject(value) ? undefined : "an object of resolvers by type"),
  limits: is.object,
  maskErrors: is.boolean,
  persisted: is.object,
  subscriptions: is.object,
  cacheSize: is.integer(0),
};

const contractOrder = ["path", "playground", "introspection"] as const;

interface Settings {
  readonly path: string;
  /** Undefined: decided by the environment. */
  readonly playground: boolean | undefined;
  readonly introspection: boolean | undefined;
  readonly schema: SchemaLike | undefined;
  readonly typeDefs: readonly string[];
  readonly resolvers: Resolvers;
  readonly limits: Required<GraphqlLimits>;
  readonly maskErrors: boolean | undefined;
  readonly persisted: PersistedSettings;
  readonly subscriptions: SubscriptionSettings;
  readonly cacheSize: number;
}

/** The settings of the GraphQL endpoint. */
export class GraphQLConfig {
  constructor(
    ...given: [
      pathOrOptions?: string | EitherSpelling<GraphqlOptions> | null,
      playground?: boolean | null,
      introspection?: boolean | null,
    ]
  ) {
    const options = readCall<GraphqlOptions>("GraphQLConfig", given, contractOrder, checks);
    const { typeDefs, schema, resolvers } = options;
    if (schema !== undefined && (typeDefs !== undefined || resolvers !== undefined)) {
      throw new ValueError("option 'schema' in GraphQLConfig goes without 'typeDefs' and 'resolvers'");
    }
    if (resolvers !== undefined && typeDefs === undefined) {
      throw new ValueError("option 'resolvers' in GraphQLConfig needs 'typeDefs'");
    }
    const settings: Settings = {
      path: options.path ?? "/graphql",
      playground: options.playground,
      introspection: options.introspection,
      schema,
      typeDefs: typeof typeDefs === "string" ? [typeDefs] : (typeDefs ?? []),
      resolvers: resolvers ?? {},
      limits: readLimits(options.limits),
      maskErrors: options.maskErrors,
      persisted: readPersisted(options.persisted),
      subscriptions: readSubscriptions(options.subscriptions),
      cacheSize: options.cacheSize ?? 33_554_432,
    };
    Object.assign(this, settings);
  }
}
export interface GraphQLConfig extends Settings, Readonly<SnakeFields>, ConfigOf<"GraphQLConfig"> {}

type SnakeFields = { [K in keyof Settings as SnakeCase<K>]: Settings[K] };

for (const name of Object.keys(checks) as (keyof Settings)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(GraphQLConfig.prototype, contract, {
    get(this: GraphQLConfig) {
      return this[name];
    },
  });
}

function isSchema(value: unknown): boolean {
  return typeof (value as Partial<SchemaLike> | null)?.getQueryType === "function";
}
