import { isText } from "../../durable/texts.js";
import { isQueries } from "../../engines/db/is-queries.js";
import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import { type Check, is, isPlainObject, show } from "../../kit/options.js";
import { isStorable } from "../../kit/storable.js";
import { ValueError } from "../../kit/value-error.js";
import type { SagaStatus } from "./row.js";

/** Values by which executions are found. */
export type SagaAttributes = Readonly<Record<string, string | number | boolean>>;

/** An execution of a saga. */
export interface SagaInfo {
  readonly id: string;
  /** The saga that began this one as its child; null for others. */
  readonly parentId: string | null;
  readonly name: string;
  readonly version: number;
  readonly status: SagaStatus;
  readonly input: unknown;
  /** Those of the definition; null without any. */
  readonly attributes: SagaAttributes | null;
  /** The results of the steps that are done, by name. */
  readonly results: Readonly<Record<string, unknown>>;
  /** The reason of the compensation, or of the last failed attempt. */
  readonly error: string | null;
  /** The end of the present wait or the time of the next attempt; null if there is none. */
  readonly wakeAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | null;
}

/** One line of the log of an execution. */
export interface SagaLogLine {
  readonly event: string;
  readonly step: string | null;
  readonly attempt: number | null;
  readonly error: string | null;
  readonly at: Date;
}

const statuses = ["running", "waiting", "compensating", "completed", "compensated", "parked", "aborted"] as const;

const isBefore: Check<Date | string> = (value) =>
  value instanceof Date || isText(value) === undefined ? undefined : "a Date or the id of a saga";

const mostAttributes = 20;

const isAttributes: Check<SagaAttributes> = (value) =>
  isPlainObject(value) && Object.keys(value).length <= mostAttributes && Object.entries(value).every(isAttribute)
    ? undefined
    : `an object of at most ${mostAttributes} strings of up to 500 characters, numbers and booleans`;

function isAttribute([name, value]: [string, unknown]): boolean {
  if (!isStorable(name) || name.length > 100) return false;
  if (typeof value === "string") return isStorable(value) && value.length <= 500;
  return typeof value === "boolean" || Number.isFinite(value);
}

/** The attributes of a new execution as the table keeps them; null without any. */
export function attributesText(
  { name, attributes }: { readonly name: string; readonly attributes: ((input: never) => unknown) | undefined },
  input: unknown,
): string | null {
  if (attributes === undefined) return null;
  const found = attributes(input as never);
  const wrong = isAttributes(found);
  if (wrong !== undefined) throw new ValueError(`the attributes of the saga ${show(name)} must be ${wrong}`);
  return JSON.stringify(found);
}

export const filterOptions = declare("sagas.list()", {
  status: option<SagaStatus>(is.oneOf(...statuses)),
  name: option(isText),
  /** Only executions that have all of these. */
  attributes: option(isAttributes),
  /** Default 100, at most 1000. */
  limit: option(is.integer(1, 1000), 100),
  /** Only sagas that were created before this time, or before the execution with this id. */
  before: option(isBefore),
});

export interface SagaFilter extends OptionsOf<typeof filterOptions.fields> {}

/** Counts of executions. */
export interface SagaCounts {
  /** Executions that have not ended, by status. */
  readonly open: Readonly<Partial<Record<SagaStatus, number>>>;
  /** Seconds that the oldest execution which is due has waited for a worker. */
  readonly oldestDueSeconds: number;
}

export const signalOptions = declare("signal()", {
  /** Sends of one key are one signal. */
  key: option(isText),
  /** The transaction to take part in: the signal arrives if it is committed. Default: the one around the caller. */
  tx: option(isQueries),
});

export interface SignalOptions extends OptionsOf<typeof signalOptions.fields> {}
