import { meterOf } from "../../batteries/metrics/feature.js";
import type { Host } from "../../feature/host.js";
import { missingPackage } from "../../kit/optional-package.js";
import { ValueError } from "../../kit/value-error.js";
import { SchemaBuilder } from "./build/schema-builder.js";
import { GraphQLConfig } from "./config.js";
import { limitOptions } from "./limits.js";
import type { RunningGraphql, startGraphql } from "./start.js";

/** The GraphQL endpoint of one application, before and after its start. */
export class GraphqlHandle {
  readonly builder: SchemaBuilder;
  config: GraphQLConfig | null = null;
  #running: RunningGraphql | null = null;

  constructor(assertOpen: (call: string) => void) {
    this.builder = new SchemaBuilder(assertOpen);
  }

  get running(): RunningGraphql | null {
    return this.#running;
  }

  async prepare(host: Host, load: () => Promise<{ startGraphql: typeof startGraphql }> = loadStart): Promise<void> {
    if (this.config === null) {
      if (this.builder.used)
        throw new ValueError("app.graphql has definitions, but app.enableGraphql() was not called");
      return;
    }
    let start: typeof startGraphql;
    try {
      start = (await load()).startGraphql;
    } catch (error) {
      throw missingPackage("graphql", "enableGraphql", error, "@16");
    }
    this.#running = await start(host, this.config, this.builder);
  }

  /** Settings that have no effect. */
  review(host: Host): readonly (string | false)[] {
    const { config } = this;
    if (config === null) return [];
    const { playground = false, introspection = host.env === "development", persisted, limits, subscriptions } = config;
    const defaults = GraphQLConfig.options.fields.subscriptions.fallback;
    return [
      ...limitOptions.idle(limits),
      playground &&
        !introspection &&
        "option 'playground' in GraphQLConfig shows no schema: set introspection: true, which is off in production",
      playground &&
        persisted.only &&
        "option 'playground' in GraphQLConfig has no effect: with persisted.only its operations are refused",
      subscriptions !== defaults &&
        !this.#running?.operations.schema.getSubscriptionType() &&
        "option 'subscriptions' in GraphQLConfig has no effect: the schema has no subscriptions",
    ];
  }

  /** Counts and traces operations, where metrics or telemetry are enabled. */
  async watch(host: Host): Promise<void> {
    const meter = meterOf(host);
    if (this.#running === null || (meter === null && host.tracer === null)) return;
    const { OperationMonitor } = await import("./monitor.js");
    this.#running.operations.monitor = new OperationMonitor(meter, host.tracer);
  }
}

// Not in feature.ts: the bundler puts everything that features load into one file, and this part needs graphql.
const loadStart = () => import("./start.js");
