import { isSchemaName } from "../../durable/schema-name.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";

export const outboxOptions = options("enableOutbox()", {
  /** The schema of the tables in PostgreSQL. Default `stoa`. */
  schema: option(isSchemaName, "stoa"),
  /** False for a process that stores messages and leaves it to others to publish them. Default true. */
  relay: option(is.boolean, true),
  /** The most messages that are published together. Default 500. */
  batchSize: option(is.integer(1, 10_000), 500),
  /** Attempts to publish a message before it is stuck. Default 20. */
  attempts: option(is.integer(1, 1_000_000), 20),
  /** Time before the second attempt; doubled each time, up to a minute. Default 1 second. */
  backoff: option.duration("1s", "1ms", "1m"),
  /** Time after which another worker publishes in place of a dead one. Default 6 seconds. */
  lease: option.duration("6s", "100ms", "1h"),
  /** Time between two looks for messages where no notification arrives. Default 1 second. */
  poll: option.duration("1s", "10ms", "1h"),
  /** Time that a message may wait before the health check is DEGRADED. Default 1 minute. */
  lagLimit: option.duration("1m"),
  /** Time for which the inbox keeps the ids of handled messages. Default 7 days. */
  inbox: option.duration("7d"),
  /** The most ids that the inbox keeps. Default 1000000. */
  inboxCount: option(is.integer(0), 1_000_000),
});

export interface OutboxOptions extends OptionsOf<typeof outboxOptions.fields> {}
export type OutboxSettings = SettingsOf<typeof outboxOptions.fields>;
