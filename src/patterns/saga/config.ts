import type { ConfigOf } from "../../internal/config-of.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";
import { type AdminOptions, isAdminOptions } from "../admin/options.js";
import { addContractFields, type ContractFields } from "../storage/contract-fields.js";
import { isSchemaName } from "../storage/schema-name.js";

export interface SagaOptions {
  /** Attempts of a step after its first one. Default 3. */
  maxRetries?: number;
  /** Milliseconds that a whole saga may take before it is compensated. Default 60000; 0 for no limit. */
  timeoutMs?: number;
  /** The schema of the tables in PostgreSQL. Default `stoa`. */
  schema?: string;
  /** Sagas that this process drives at the same time. Default 20. */
  concurrency?: number;
  /** Milliseconds after which another worker drives the sagas of a dead one. Default 6000. */
  leaseMs?: number;
  /** Milliseconds between two looks for work where no notification arrives. Default 1000. */
  pollMs?: number;
  /** Milliseconds before the first retry; doubled each time, up to 60 seconds. Default 200. */
  backoffMs?: number;
  /** Days that finished sagas are kept. Default 30. */
  retentionDays?: number;
  /** The most finished sagas that are kept, and the most messages for waits. Default 100000. */
  retentionCount?: number;
  /** Days that messages and events are kept for sagas that wait for them later. Default 7. */
  inboxDays?: number;
  /** Milliseconds that a saga is due in a version that no worker knows, before it is parked. Default 60000. */
  unknownVersionMs?: number;
  /**
   * Serves pages and calls for operators: list, detail, resume, skip, abort. Default: none. Outside of development it needs
   * at least one guard.
   */
  admin?: AdminOptions | undefined;
}

const milliseconds = is.integer(10, 3_600_000);

const checks: Checks<SagaOptions> = {
  maxRetries: is.integer(0, 1000),
  timeoutMs: is.integer(0, Number.MAX_SAFE_INTEGER),
  schema: isSchemaName,
  concurrency: is.integer(1, 10_000),
  leaseMs: is.integer(100, 3_600_000),
  pollMs: milliseconds,
  backoffMs: is.integer(1, 3_600_000),
  retentionDays: is.number(0),
  retentionCount: is.integer(0),
  inboxDays: is.number(0),
  unknownVersionMs: is.integer(100, 86_400_000),
  admin: isAdminOptions,
};

type Settings = Required<Omit<SagaOptions, "admin">> & { readonly admin: AdminOptions | undefined };

const defaults = {
  maxRetries: 3,
  timeoutMs: 60_000,
  schema: "stoa",
  concurrency: 20,
  leaseMs: 6000,
  pollMs: 1000,
  backoffMs: 200,
  retentionDays: 30,
  retentionCount: 100_000,
  inboxDays: 7,
  unknownVersionMs: 60_000,
  admin: undefined,
} as const satisfies Settings;

/** The options of sagas. */
export class SagaConfig {
  constructor(
    ...given: [maxRetriesOrOptions?: number | EitherSpelling<SagaOptions> | null, timeoutMs?: number | null]
  ) {
    const order = ["maxRetries", "timeoutMs"] as const;
    Object.assign(this, defaults, readCall<SagaOptions>("SagaConfig", given, order, checks));
  }

  static from(given: readonly unknown[]): SagaConfig {
    const [first] = given;
    return first instanceof SagaConfig ? first : new SagaConfig(...(given as [EitherSpelling<SagaOptions>]));
  }
}
export interface SagaConfig extends Readonly<Settings>, ContractFields<Settings>, ConfigOf<"SagaConfig"> {}
addContractFields(SagaConfig.prototype, Object.keys(checks));
