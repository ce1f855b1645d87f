import { type OptionsOf, option, options } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import type { OutgoingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";

/** A record that the broker has not confirmed yet. */
export interface Waiting {
  readonly record: OutgoingRecord;
  readonly size: number;
  /** The place in the order of publishes. */
  readonly number: number;
  /** The time on the monotonic clock until which it may wait. */
  readonly deadline: number;
  /** Called once: with null when the broker has the record. */
  readonly end: (error: MessagingError | null) => void;
  settled: boolean;
}

/** Bounds of the publishes that wait for the broker. */
export const limitFields = {
  /** Time until a publish that is not confirmed rejects. Default 30 seconds. */
  timeout: option.duration("30s"),
  /** The most messages that wait. Default 10000. */
  maxWaiting: option(is.limit(0), 10_000),
  /** The most bytes that wait. Default 64 MiB. */
  maxWaitingBytes: option(is.limit(0), 64 * 1024 * 1024, "64 MiB"),
};

export const publisherLimits = options("Publisher", limitFields);

export interface PublisherLimits extends OptionsOf<typeof limitFields> {}
