import { isSchemaName } from "../../durable/schema-name.js";
import { config, type OptionsOf, option } from "../../kit/config.js";
import { is } from "../../kit/options.js";

/** Characters of an idempotency key. */
export const longestKey = 255;

/** The options of commands and queries. */
export class CqrsConfig extends config(
  "CqrsConfig",
  {
    /** True lets a command wait until projections have processed its events: read your own writes. Default false. */
    enableEventSync: option(is.boolean, false),
    /** Time that a command or a query may take. Default 30 seconds. */
    commandTimeoutMs: option.milliseconds("30s", 1, "24d"),
    /** The most time that a command waits for projections. Default 5 seconds. */
    eventSyncTimeout: option.duration("5s", "1ms", "24d"),
    /** Runs of a command after its first one, if it failed by a conflict with another writer. Default 3. */
    retries: option(is.integer(0, 1000), 3),
    /** Time for which the results of commands with an idempotency key are kept. Default 1 day. */
    idempotencyRetention: option.duration("1d"),
    /** The schema of the table of idempotency keys. Default `stoa`. */
    schema: option(isSchemaName, "stoa"),
  },
  {
    order: ["enableEventSync", "commandTimeoutMs"],
    idle: ({ enableEventSync }) => ({ eventSyncTimeout: !enableEventSync && "set enableEventSync: true to wait" }),
  },
) {}

export interface CqrsOptions extends OptionsOf<typeof CqrsConfig.options.fields> {}
