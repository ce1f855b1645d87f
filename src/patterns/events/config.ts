import { isSchemaName } from "../../durable/schema-name.js";
import { config, type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is, isPlainObject } from "../../kit/options.js";
import { type Duration, isDuration, seconds } from "../../kit/time/duration.js";

/** Streams that move to the archive by themselves. */
export interface ArchivePolicy {
  readonly category: string;
  /** Time since the last event of the stream. */
  readonly after: Duration;
  /** Only streams whose last event has one of these types: those that are closed. */
  readonly closedBy?: readonly string[] | undefined;
}

const policyOptions = options("a policy of EventSourcingConfig.archive", {
  category: option.required(is.text),
  after: option.required(isDuration(), seconds),
  closedBy: option(is.strings),
});

/** The options of a policy check themselves, and name their own mistakes. */
const isPolicy: Check<ArchivePolicy> = (value) =>
  isPlainObject(value) ? undefined : "an object of 'category', 'after' (a duration) and 'closedBy'";

const readPolicies = (given: readonly ArchivePolicy[]): readonly SettingsOf<typeof policyOptions.fields>[] =>
  given.map((policy) => policyOptions.read([policy]));

const shortestSecret = 32;

const areSecrets: Check<string | readonly string[]> = (value) =>
  (Array.isArray(value) ? value : [value]).every((one) => typeof one === "string" && one.length >= shortestSecret)
    ? undefined
    : `a secret or a list of secrets of at least ${shortestSecret} characters`;

/** The options of event sourcing. */
export class EventSourcingConfig extends config(
  "EventSourcingConfig",
  {
    /**
     * The place of events: `postgres`, `memory`, or `auto` for `postgres` with a database and `memory` without. Default
     * `auto`.
     */
    storeType: option(is.oneOf("auto", "memory", "postgres"), "auto"),
    /** Events between two snapshots of an aggregate. Default 100. */
    snapshotInterval: option(is.integer(1, 1_000_000), 100),
    /** False reads every aggregate from its first event. Default true. */
    enableSnapshots: option(is.boolean, true),
    /** The schema of the tables in PostgreSQL. Default `stoa`. */
    schema: option(isSchemaName, "stoa"),
    /** Time after which the subscriptions of a dead worker move to another one. Default 6 seconds. */
    lease: option.duration("6s", "100ms", "1h"),
    /** Time between two looks for new events where no notification arrives. Default 1 second. */
    poll: option.duration("1s", "10ms", "1h"),
    /** Streams that move to the archive by themselves. Default: none. */
    archive: option.made(is.list(isPolicy), readPolicies, []),
    /**
     * Secrets that protect the keys of personal data, at least 32 characters each. The first one wraps new keys and all
     * unwrap, so a secret can be changed. Default: none, and no personal fields.
     */
    personalKeys: option.secret(areSecrets, (given): readonly string[] =>
      typeof given === "string" ? [given] : given,
    ),
    /** The most time that a worker keeps the key of a person in memory. Default 1 minute. */
    keyCache: option.duration("1m", 0, "1h"),
  },
  {
    order: ["storeType", "snapshotInterval", "enableSnapshots"],
    idle: ({ storeType, enableSnapshots, personalKeys }) => ({
      snapshotInterval: !enableSnapshots && "enableSnapshots is false",
      schema: storeType === "memory" && "events are kept in memory",
      keyCache: personalKeys === undefined && "there are no personalKeys",
    }),
  },
) {}

export interface EventSourcingOptions extends OptionsOf<typeof EventSourcingConfig.options.fields> {}
