import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";

/** The state of a message in the outbox; see tables.ts. */
export type OutboxState = "ready" | "delayed" | "failed" | "stuck" | "held";

/** A message of the outbox as operators see it. */
export interface OutboxMessage {
  /** The id of the message, as its consumers will see it. */
  readonly id: string;
  readonly broker: string;
  readonly topic: string;
  readonly key: string | null;
  readonly state: OutboxState;
  /** Headers, those of the trace included. */
  readonly headers: Readonly<Record<string, string>>;
  /** The value as text; null if it is bytes. */
  readonly text: string | null;
  /** Bytes of the message. */
  readonly size: number;
  /** Attempts since it was stored, or since it was last retried by hand. */
  readonly attempts: number;
  /** Times that it was retried by hand. */
  readonly replays: number;
  readonly error: string | null;
  /** Equal for messages that fail in the same way: the error without its numbers. Null if it has not failed. */
  readonly failure: string | null;
  /** The next attempt; null if it is not waiting for a time. */
  readonly dueAt: Date | null;
  readonly storedAt: Date;
  readonly failedAt: Date | null;
}

/** Messages of one failure. */
export interface OutboxFailure {
  readonly failure: string;
  readonly topic: string;
  readonly error: string;
  readonly count: number;
  /** Those of them that are tried again only by hand. */
  readonly stuck: number;
  /** The most times that one of them was retried by hand. */
  readonly replays: number;
  readonly first: Date;
  readonly last: Date;
}

export const filterOptions = options("the filter of messages", {
  ids: option(is.list(is.text)),
  failure: option(is.text),
  topic: option(is.text),
  /** The most messages. Default 1000. */
  limit: option(is.integer(1, 100_000), 1000),
});

/** A choice of messages that have failed or are stuck; all fields given must fit. */
export interface OutboxFilter extends OptionsOf<typeof filterOptions.fields> {}

/** The backlog. Numbers over 100,000 are given as 100,000. */
export interface OutboxStatus {
  /** Messages that could be published now. */
  readonly ready: number;
  readonly delayed: number;
  readonly failed: number;
  readonly stuck: number;
  readonly held: number;
  /** Age of the oldest message that could be published now, in seconds. */
  readonly lag: number;
}
