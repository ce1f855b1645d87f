import type { Attributes, Span, Tracer } from "../../kit/tracer.js";
import type { KvStoreConfig } from "./config.js";
import { KvStoreError } from "./errors.js";

/** Records calls as spans, by OpenTelemetry's stable conventions for databases. Keys and values are never part of them. */
export class CallTracer {
  readonly #tracer: Tracer;
  readonly #place: Attributes;

  constructor(tracer: Tracer, config: KvStoreConfig) {
    this.#tracer = tracer;
    this.#place = placeOf(config);
  }

  start(command: string): Span {
    const operation = command.toUpperCase();
    return this.#tracer.start(operation, { ...this.#place, "db.operation.name": operation });
  }

  /** Starts the span of calls that are sent together: `PIPELINE INCR` if all are the same, else `MULTI`, `PIPELINE`. */
  startBatch(kind: "pipeline" | "transaction", commands: readonly string[]): Span {
    const outer = kind === "pipeline" ? "PIPELINE" : "MULTI";
    const [first] = commands;
    const operation = commands.every((name) => name === first) ? `${outer} ${first!.toUpperCase()}` : outer;
    // The conventions give a size to batches of at least two calls.
    const size = commands.length > 1 ? commands.length : undefined;
    const attributes = { ...this.#place, "db.operation.name": operation, "db.operation.batch.size": size };
    return this.#tracer.start(operation, attributes);
  }
}

/** Ends the span of a call when its reply arrives. */
export function endWith(span: Span, reply: Promise<unknown>): void {
  reply.then(
    () => span.end(null),
    (error: unknown) => {
      // The first word of an error of the server, such as WRONGTYPE.
      if (error instanceof KvStoreError && error.reply !== null) span.set("db.response.status_code", error.reply);
      span.end(error);
    },
  );
}

function placeOf({ database, clusterMode, servers }: KvStoreConfig): Attributes {
  const place = { "db.system.name": "redis", "db.namespace": String(database) };
  // Of several servers, the one that a call reaches is not known when its span starts.
  if (clusterMode || servers.length !== 1) return place;
  return { ...place, "server.address": servers[0]!.host, "server.port": servers[0]!.port };
}
