import type { Duration } from "../../../kit/time/duration.js";
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
export interface PublisherLimits {
  /** Time until a publish that is not confirmed rejects. Default 30 seconds. */
  readonly timeout?: Duration;
  /** The most messages that wait. Default 10000. */
  readonly maxWaiting?: number;
  /** The most bytes that wait. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
}
