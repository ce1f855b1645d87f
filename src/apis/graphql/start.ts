import type { Host } from "../../feature/host.js";
import { buildApplicationSchema } from "./build/build-schema.js";
import type { SchemaBuilder } from "./build/schema-builder.js";
import type { GraphQLConfig } from "./config.js";
import { HttpEndpoint } from "./http/http-endpoint.js";
import { Operations } from "./operations.js";
import { Connection, subprotocol } from "./subscriptions/connection.js";
import { EventStreams } from "./subscriptions/event-streams.js";
import { SubscriptionCount } from "./subscriptions/subscription-count.js";

/** The endpoint of an application that has been started. */
export interface RunningGraphql {
  readonly operations: Operations;
  /** Ends all event streams. WebSockets are closed by the application itself. */
  drain(): void;
  /** Waits for resolvers that no response waits for, so that engines are not closed under them. */
  close(): Promise<void>;
}

/** Milliseconds that they have for it. */
const grace = 2000;

/** The only module that is loaded on demand here: it needs the package graphql. */
export async function startGraphql(host: Host, config: GraphQLConfig, builder: SchemaBuilder): Promise<RunningGraphql> {
  const development = host.env === "development";
  const operations = new Operations(buildApplicationSchema(host, config, builder), {
    config,
    introspection: config.introspection ?? development,
    maskErrors: config.maskErrors ?? !host.debug,
  });
  const count = new SubscriptionCount(config.subscriptions.maxPerProcess);
  const streams = new EventStreams(operations, count);
  const page = (config.playground ?? development) ? await import("./playground/playground.js") : null;
  const playground = page?.playgroundOf(host, config.path) ?? null;
  const endpoint = new HttpEndpoint({
    operations,
    streams,
    playground,
    maxBatch: config.limits.batch,
    uploads: config.uploads,
    incremental: config.incremental,
  });
  const { path } = config;
  // A response depends on the body or on more of the query than other caches look at.
  const options = { cache: false, etag: false };
  host.route({ path, options, handler: (request) => endpoint.get(request) });
  const bodyLimit = config.uploads?.bodyLimit;
  const posted = { ...options, ...(bodyLimit !== undefined && { bodyLimit }) };
  host.route({ path, options: posted, method: "POST", handler: (request) => endpoint.post(request) });
  if (operations.schema.getSubscriptionType()) addSocket(host, config, operations, count);
  if (playground !== null) host.link("GraphQL", path);
  return {
    operations,
    drain: () => streams.drain(),
    async close() {
      const left = await operations.settled(grace);
      if (left > 0) host.logger.warn(`${left} GraphQL operations still run; the application is closed under them`);
    },
  };
}

function addSocket(host: Host, config: GraphQLConfig, operations: Operations, count: SubscriptionCount): void {
  const { subscriptions: settings, path } = config;
  host.websocket({
    path,
    options: {
      protocols: [subprotocol],
      sendTimeout: settings.sendTimeout,
      ...(settings.origins !== undefined && { origins: settings.origins }),
    },
    handler: (socket) => new Connection(socket, { operations, settings, count }).run(),
  });
}
