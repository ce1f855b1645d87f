import { adminOption } from "../../console/options.js";
import { isSchemaName } from "../../durable/schema-name.js";
import { config, type OptionsOf, option } from "../../kit/config.js";
import { is } from "../../kit/options.js";

/** The options of sagas. */
export class SagaConfig extends config(
  "SagaConfig",
  {
    /** Attempts of a step after its first one. Default 3. */
    maxRetries: option(is.integer(0, 1000), 3),
    /** Attempts of a step without an end, as of a worker that was killed, after which the saga is compensated. Default 10. */
    maxLost: option(is.integer(0, 1000), 10),
    /** Time that a whole saga may take before it is compensated; 0 for no limit. Default 1 minute. */
    timeoutMs: option.milliseconds("1m"),
    /** The schema of the tables in PostgreSQL. Default `stoa`. */
    schema: option(isSchemaName, "stoa"),
    /** Sagas that this process drives at the same time. Default 20. */
    concurrency: option(is.integer(1, 10_000), 20),
    /** Time after which another worker drives the sagas of a dead one. Default 6 seconds. */
    lease: option.duration("6s", "100ms", "1h"),
    /** Time between two looks for work where no notification arrives. Default 1 second. */
    poll: option.duration("1s", "10ms", "1h"),
    /** Time before the first retry; doubled each time, up to 60 seconds. Default 200 ms. */
    backoff: option.duration("200ms", "1ms", "1h"),
    /** Time for which finished sagas are kept. Default 30 days. */
    retention: option.duration("30d"),
    /** The most finished sagas that are kept, and the most messages for waits. Default 100000. */
    retentionCount: option(is.integer(0), 100_000),
    /** Time for which the ids of deleted sagas are known: a start with one begins nothing. Default 90 days. */
    keepIds: option.duration("90d"),
    /** Time for which messages and events are kept for sagas that wait for them later. Default 7 days. */
    inbox: option.duration("7d"),
    /** Time for which a saga is due in a version that no worker knows, before it is parked. Default 1 minute. */
    unknownVersion: option.duration("1m", "100ms", "1d"),
    /**
     * Serves pages and calls for operators: list, detail, resume, skip, abort. Default: none. Outside of development it
     * needs at least one guard.
     */
    admin: adminOption("/_sagas"),
  },
  { order: ["maxRetries", "timeoutMs"] },
) {}

export interface SagaOptions extends OptionsOf<typeof SagaConfig.options.fields> {}
