import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { SchemaBuilder } from "./build/schema-builder.js";
import { GraphQLConfig, type GraphqlOptions } from "./config.js";
import { GraphqlHandle } from "./graphql-handle.js";

export interface GraphqlFeature {
  /**
   * Serves a GraphQL schema at `/graphql`: over HTTP, and subscriptions over WebSocket and server-sent events. The schema is
   * given as `schema`, as `typeDefs` with `resolvers`, or in code with `app.graphql`.
   */
  enableGraphql(
    pathOrOptions?: string | ConfigOf<"GraphQLConfig"> | EitherSpelling<GraphqlOptions> | null,
    playground?: boolean,
    introspection?: boolean,
  ): this;
  /** The schema in code: `app.graphql.query("hello", "String!", () => "hello")`. Needs `enableGraphql()`. */
  readonly graphql: SchemaBuilder;
}

const handleOf = perHost((host) => new GraphqlHandle((call) => host.assertOpen(call)));

export const graphqlFeature = feature<GraphqlFeature>({
  name: "GraphQL endpoint",
  setup: {
    enableGraphql(host, ...given) {
      handleOf(host).config = GraphQLConfig.from(given);
    },
  },
  values: { graphql: (host) => handleOf(host).builder },
  prepare: (host) => handleOf(host).prepare(host),
  review: (host) => handleOf(host).review(host),
  // Telemetry has its tracer by then.
  open: (host) => handleOf(host).watch(host),
  drain: (host) => handleOf(host).running?.drain(),
  close: (host) => handleOf(host).running?.close(),
});
