import type { ConfigOf } from "../../internal/config-of.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";
import { addContractFields, type ContractFields } from "../storage/contract-fields.js";
import { isSchemaName } from "../storage/schema-name.js";

/** Characters of an idempotency key. */
export const longestKey = 255;

export interface CqrsOptions {
  /** True lets a command wait until projections have processed its events: read your own writes. Default false. */
  enableEventSync?: boolean;
  /** Milliseconds that a command or a query may take. Default 30000. */
  commandTimeoutMs?: number;
  /** The most milliseconds that a command waits for projections. Default 5000. */
  eventSyncTimeoutMs?: number;
  /** Runs of a command after its first one, if it failed by a conflict with another writer. Default 3. */
  retries?: number;
  /** Hours that the results of commands with an idempotency key are kept. Default 24. */
  idempotencyHours?: number;
  /** The schema of the table of idempotency keys. Default `stoa`. */
  schema?: string;
}

const milliseconds = is.integer(1, 2_147_483_647);

const checks: Checks<CqrsOptions> = {
  enableEventSync: is.boolean,
  commandTimeoutMs: milliseconds,
  eventSyncTimeoutMs: milliseconds,
  retries: is.integer(0, 1000),
  idempotencyHours: is.number(0),
  schema: isSchemaName,
};

const defaults = {
  enableEventSync: false,
  commandTimeoutMs: 30_000,
  eventSyncTimeoutMs: 5000,
  retries: 3,
  idempotencyHours: 24,
  schema: "stoa",
} as const satisfies Required<CqrsOptions>;

type Settings = Required<CqrsOptions>;

/** The options of commands and queries. */
export class CqrsConfig {
  constructor(
    ...given: [
      enableEventSyncOrOptions?: boolean | EitherSpelling<CqrsOptions> | null,
      commandTimeoutMs?: number | null,
    ]
  ) {
    const order = ["enableEventSync", "commandTimeoutMs"] as const;
    Object.assign(this, defaults, readCall<CqrsOptions>("CqrsConfig", given, order, checks));
  }

  static from(given: readonly unknown[]): CqrsConfig {
    const [first] = given;
    return first instanceof CqrsConfig ? first : new CqrsConfig(...(given as [EitherSpelling<CqrsOptions>]));
  }
}
export interface CqrsConfig extends Readonly<Settings>, ContractFields<Settings>, ConfigOf<"CqrsConfig"> {}
addContractFields(CqrsConfig.prototype, Object.keys(checks));
