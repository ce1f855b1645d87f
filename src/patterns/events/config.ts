import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";
import { addContractFields, type ContractFields } from "../storage/contract-fields.js";
import { isSchemaName } from "../storage/schema-name.js";

export interface EventSourcingOptions {
  /** The place of events: `postgres`, `memory`, or `auto` for `postgres` with a database and `memory` without. Default `auto`. */
  storeType?: "auto" | "memory" | "postgres";
  /** Events between two snapshots of an aggregate. Default 100. */
  snapshotInterval?: number;
  /** False reads every aggregate from its first event. Default true. */
  enableSnapshots?: boolean;
  /** The schema of the tables in PostgreSQL. Default `stoa`. */
  schema?: string;
  /** Milliseconds after which the subscriptions of a dead worker move to another one. Default 6000. */
  leaseMs?: number;
  /** Milliseconds between two looks for new events where no notification arrives. Default 1000. */
  pollMs?: number;
}

const checks: Checks<EventSourcingOptions> = {
  storeType: is.oneOf("auto", "memory", "postgres"),
  snapshotInterval: is.integer(1, 1_000_000),
  enableSnapshots: is.boolean,
  schema: isSchemaName,
  leaseMs: is.integer(100, 3_600_000),
  pollMs: is.integer(10, 3_600_000),
};

const defaults = {
  storeType: "auto",
  snapshotInterval: 100,
  enableSnapshots: true,
  schema: "stoa",
  leaseMs: 6000,
  pollMs: 1000,
} as const satisfies Required<EventSourcingOptions>;

type Settings = Required<EventSourcingOptions>;

/** The options of event sourcing. */
export class EventSourcingConfig {
  constructor(
    ...given:
      | [options?: EitherSpelling<EventSourcingOptions> | null]
      | [storeType?: Settings["storeType"] | null, snapshotInterval?: number | null, enableSnapshots?: boolean | null]
  ) {
    const order = ["storeType", "snapshotInterval", "enableSnapshots"] as const;
    Object.assign(this, defaults, readCall<EventSourcingOptions>("EventSourcingConfig", given, order, checks));
  }

  static from(given: readonly unknown[]): EventSourcingConfig {
    const [first] = given;
    if (first instanceof EventSourcingConfig) return first;
    return new EventSourcingConfig(...(given as [EitherSpelling<EventSourcingOptions>]));
  }
}
export interface EventSourcingConfig extends Readonly<Settings>, ContractFields<Settings> {}
addContractFields(EventSourcingConfig.prototype, Object.keys(checks));
