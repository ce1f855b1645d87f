import { type Checks, is, readOptions } from "../../internal/options.js";
import { isSchemaName } from "../storage/schema-name.js";

export interface OutboxOptions {
  /** The schema of the tables in PostgreSQL. Default `stoa`. */
  schema?: string;
  /** False for a process that stores messages and leaves it to others to publish them. Default true. */
  relay?: boolean;
  /** The most messages that are published together. Default 500. */
  batchSize?: number;
  /** Attempts to publish a message before it is stuck. Default 20. */
  attempts?: number;
  /** Milliseconds before the second attempt; doubled each time, up to a minute. Default 1000. */
  backoffMs?: number;
  /** Milliseconds after which another worker publishes in place of a dead one. Default 6000. */
  leaseMs?: number;
  /** Milliseconds between two looks for messages where no notification arrives. Default 1000. */
  pollMs?: number;
  /** Seconds that a message may wait before the health check is DEGRADED. Default 60. */
  lagLimit?: number;
  /** Days that the inbox keeps the ids of handled messages. Default 7. */
  inboxDays?: number;
  /** The most ids that the inbox keeps. Default 1000000. */
  inboxCount?: number;
}

export type OutboxSettings = Required<OutboxOptions>;

const checks: Checks<OutboxOptions> = {
  schema: isSchemaName,
  relay: is.boolean,
  batchSize: is.integer(1, 10_000),
  attempts: is.integer(1, 1_000_000),
  backoffMs: is.integer(1, 60_000),
  leaseMs: is.integer(100, 3_600_000),
  pollMs: is.integer(10, 3_600_000),
  lagLimit: is.number(0),
  inboxDays: is.number(0),
  inboxCount: is.integer(0),
};

const defaults: OutboxSettings = {
  schema: "stoa",
  relay: true,
  batchSize: 500,
  attempts: 20,
  backoffMs: 1000,
  leaseMs: 6000,
  pollMs: 1000,
  lagLimit: 60,
  inboxDays: 7,
  inboxCount: 1_000_000,
};

export function readOutboxOptions(given: unknown): OutboxSettings {
  return { ...defaults, ...readOptions<OutboxOptions>("enableOutbox()", given, checks) };
}
