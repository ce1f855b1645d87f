import type { Attributes, Span, Tracer } from "../../kit/tracer.js";
import type { DatabaseConfig } from "./config.js";
import { DatabaseError } from "./errors.js";
import { summarize } from "./sql/query-summary.js";
import type { StatementInfo, StatementSpan } from "./statements.js";

const system = "postgresql";

/** Records statements as spans, by OpenTelemetry's stable conventions for databases. Parameters are never part of them. */
export class StatementTracer {
  readonly #tracer: Tracer;
  readonly #place: Attributes;

  constructor(tracer: Tracer, config: DatabaseConfig) {
    this.#tracer = tracer;
    this.#place = placeOf(config);
  }

  start(info: StatementInfo): Span {
    const { name, attributes } = (info.shown ??= this.#show(info));
    return this.#tracer.start(name, attributes);
  }

  #show({ text: whole }: StatementInfo): StatementSpan {
    const { summary, operation, collection, text } = summarize(whole);
    const attributes = {
      ...this.#place,
      "db.operation.name": operation,
      "db.collection.name": collection,
      "db.query.summary": summary === "" ? undefined : summary,
      "db.query.text": text,
    };
    return { name: summary === "" ? system : summary, attributes };
  }
}

/** Ends the span of a statement. */
export function endSpan(span: Span, error: unknown): void {
  if (error instanceof DatabaseError && error.sqlstate !== null) span.set("db.response.status_code", error.sqlstate);
  span.end(error);
}

function placeOf({ engine, database, hosts }: DatabaseConfig): Attributes {
  const place = { "db.system.name": system, "db.namespace": database };
  // Of several servers, the one that a statement reaches is not known when its span starts.
  const [only] = hosts;
  if (engine === "pglite" || hosts.length !== 1 || only === undefined) return place;
  const port = only.host.startsWith("/") ? undefined : only.port;
  return { ...place, "server.address": only.host, "server.port": port };
}
