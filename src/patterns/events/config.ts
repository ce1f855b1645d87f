import type { ConfigOf } from "../../internal/config-of.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { addContractFields, type ContractFields } from "../storage/contract-fields.js";
import { isSchemaName } from "../storage/schema-name.js";

/** Streams that move to the archive by themselves. */
export interface ArchivePolicy {
  readonly category: string;
  /** Days since the last event of the stream. */
  readonly afterDays: number;
  /** Only streams whose last event has one of these types: those that are closed. */
  readonly closedBy?: readonly string[] | undefined;
}

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
  /** Streams that move to the archive by themselves. Default: none. */
  archive?: readonly ArchivePolicy[];
  /**
   * Secrets that protect the keys of personal data, at least 32 characters each. The first one wraps new keys and all
   * unwrap, so a secret can be changed. Default: none, and no personal fields.
   */
  personalKeys?: string | readonly string[];
  /** The most milliseconds that a worker keeps the key of a person in memory. Default 60000. */
  keyCacheMs?: number;
}

const checks: Checks<EventSourcingOptions> = {
  storeType: is.oneOf("auto", "memory", "postgres"),
  snapshotInterval: is.integer(1, 1_000_000),
  enableSnapshots: is.boolean,
  schema: isSchemaName,
  leaseMs: is.integer(100, 3_600_000),
  pollMs: is.integer(10, 3_600_000),
  archive: is.list((value) => policyFault(value)),
  // Checked apart: a message must not show a secret.
  personalKeys: is.anything,
  keyCacheMs: is.integer(0, 3_600_000),
};

const defaults = {
  storeType: "auto",
  snapshotInterval: 100,
  enableSnapshots: true,
  schema: "stoa",
  leaseMs: 6000,
  pollMs: 1000,
  archive: [],
  personalKeys: [],
  keyCacheMs: 60_000,
} as const satisfies Required<EventSourcingOptions>;

type Settings = Omit<Required<EventSourcingOptions>, "personalKeys"> & { readonly personalKeys: readonly string[] };

const shortestSecret = 32;

function policyFault(value: unknown): string | undefined {
  try {
    const given = readOptions<ArchivePolicy>("archive", value, {
      category: is.text,
      afterDays: is.number(0),
      closedBy: is.strings,
    });
    return given.category === undefined || given.afterDays === undefined
      ? "with 'category' and 'afterDays'"
      : undefined;
  } catch {
    return "an object of 'category', 'afterDays' and 'closedBy'";
  }
}

function secretsOf(given: unknown): readonly string[] {
  const secrets = (Array.isArray(given) ? given : [given]) as readonly unknown[];
  if (secrets.every((secret) => typeof secret === "string" && secret.length >= shortestSecret))
    return secrets as string[];
  throw new ValueError(
    `option 'personalKeys' in EventSourcingConfig must be a secret or a list of secrets of at least ${shortestSecret} characters`,
  );
}

/** The options of event sourcing. */
export class EventSourcingConfig {
  constructor(
    ...given: [
      storeTypeOrOptions?: Settings["storeType"] | EitherSpelling<EventSourcingOptions> | null,
      snapshotInterval?: number | null,
      enableSnapshots?: boolean | null,
    ]
  ) {
    const order = ["storeType", "snapshotInterval", "enableSnapshots"] as const;
    const options = readCall<EventSourcingOptions>("EventSourcingConfig", given, order, checks);
    // Not enumerable: a config that is logged must not show the secrets.
    const personalKeys = secretsOf(options.personalKeys ?? []);
    Object.assign(this, defaults, options);
    Object.defineProperty(this, "personalKeys", { value: personalKeys, enumerable: false });
  }

  static from(given: readonly unknown[]): EventSourcingConfig {
    const [first] = given;
    if (first instanceof EventSourcingConfig) return first;
    return new EventSourcingConfig(...(given as [EitherSpelling<EventSourcingOptions>]));
  }
}
export interface EventSourcingConfig
  extends Readonly<Settings>,
    ContractFields<Settings>,
    ConfigOf<"EventSourcingConfig"> {}
addContractFields(EventSourcingConfig.prototype, Object.keys(checks));
