import type { ShownLease } from "../../../durable/lease-panel.js";
import type { Queries, Transaction } from "../../../engines/db/database.js";
import type { EventMetadata } from "../event.js";

/** The number of events that are read at a time. */
export const pageSize = 500;

/** An event as a storage keeps it: nothing is upcast yet. */
export interface StoredEvent {
  readonly id: string;
  readonly stream: string;
  readonly category: string;
  readonly version: number;
  readonly position: number;
  readonly type: string;
  readonly schemaVersion: number;
  readonly data: unknown;
  readonly metadata: EventMetadata;
  readonly recordedAt: Date;
}

/** The part of an event that changes the state of an aggregate. */
export type ReplayedEvent = Pick<StoredEvent, "version" | "position" | "type" | "schemaVersion" | "data">;

export interface EventToStore {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  /** JSON texts. */
  readonly data: string;
  readonly metadata: string;
}

/** -1 for any version, -2 for any but 0. */
export type ExpectedNumber = number;

/** The outcome of an append: stored, stored earlier by the same call, or not stored. */
export interface AppendOutcome {
  readonly outcome: "stored" | "known" | "conflict" | "mixed" | "archived";
  /** The version of the stream afterwards; for events that were known, the version of the last of them. */
  readonly version: number;
  /** The position of the last event; 0 if nothing was stored. */
  readonly position: number;
}

export interface ReadFilter {
  readonly categories?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** True for archived events too. */
  readonly archived?: boolean | undefined;
  /** One of several equal parts of all streams. */
  readonly shard?: Shard | undefined;
}

/** The streams whose name has a hash with this remainder. */
export interface Shard {
  readonly number: number;
  readonly of: number;
}

/** The part of a stream to read. */
export interface StreamRange {
  readonly from: number;
  readonly limit: number;
  readonly backwards?: boolean | undefined;
  /** True for archived events too. */
  readonly archived?: boolean | undefined;
  /** Only events that were stored up to this time. */
  readonly at?: Date | undefined;
}

/** Streams that a policy archives: those whose last event is old enough. */
export interface FinishedStreams {
  readonly category: string;
  /** Seconds since the last event. */
  readonly after: number;
  /** The types of the last event. */
  readonly closedBy?: readonly string[] | undefined;
}

/** The streams of one part of the events. */
export interface FinishedPart {
  readonly streams: readonly string[];
  /** The position of the last event that was looked at. */
  readonly upTo: number;
  /** True if no later event is old enough. */
  readonly end: boolean;
}

export interface StoredSnapshot {
  readonly version: number;
  /** The id of the last event in it: a snapshot of events that were rolled back does not fit the stream. */
  readonly eventId: string;
  readonly schema: string;
  readonly state: string;
  readonly checksum: string;
}

/** The right to run a subscription, until the lease ends. A later claim has a higher token. */
export interface Claim {
  readonly token: number;
  readonly position: number;
}

export interface SubscriptionState {
  readonly name: string;
  readonly position: number;
  /** The worker that has it; null if none has. */
  readonly owner: string | null;
}

/** The transaction in which a checkpoint moves, and its position before. */
export interface CheckpointStep {
  readonly tx: Transaction;
  readonly from: number;
}

/** The storage of events, snapshots and checkpoints. */
export interface EventStorage {
  append(
    stream: string,
    expected: ExpectedNumber,
    events: readonly EventToStore[],
    within?: Queries,
  ): Promise<AppendOutcome>;
  /** Events of a stream from a version on, in either direction. */
  readStream(stream: string, range: StreamRange, within?: Queries): Promise<StoredEvent[]>;
  /** The same events, for aggregates. */
  replay(stream: string, range: StreamRange, within?: Queries): Promise<ReplayedEvent[]>;
  /** Events of all streams after (or, backwards, before) a position, not beyond the high-water mark. */
  readAll(filter: ReadFilter, from: number, upTo: number, backwards: boolean, limit: number): Promise<StoredEvent[]>;
  streamVersion(stream: string): Promise<number>;

  /** Moves all events of a stream to the archive and closes it; returns the number of events. */
  archive(stream: string): Promise<number>;
  /** Moves the events of a stream back and opens it. */
  restore(stream: string): Promise<number>;
  /** Moves the events of a stream before a version to the archive, or deletes them for good. */
  truncate(stream: string, before: number, keep: boolean): Promise<number>;
  /** Streams that a policy archives, among a part of the events after a position. */
  finished(policy: FinishedStreams, from: number): Promise<FinishedPart>;
  /** The position up to which no event can appear any more. */
  highWaterMark(): Promise<number>;

  /** The snapshot of a stream whose last event is in the stream; null without one. */
  loadSnapshot(stream: string, within?: Queries): Promise<StoredSnapshot | null>;
  saveSnapshot(stream: string, snapshot: StoredSnapshot): Promise<void>;
  /** Deletes the snapshots of streams. For an hour none is kept: a worker may have the data of them in memory. */
  forbidSnapshots(streams: readonly string[]): Promise<void>;

  /** Claims a subscription unless another owner has it; null then. A new one begins at `start`. */
  claim(name: string, owner: string, leaseMs: number, start: number): Promise<Claim | null>;
  /** Extends a lease; false if the claim was lost. */
  renew(name: string, token: number, leaseMs: number): Promise<boolean>;
  /**
   * Moves a checkpoint; false, and nothing is changed, if the claim was lost. In a transaction with effects it must still be at
   * `from`: a batch may have been committed before, and only the response to its commit lost.
   */
  advance(name: string, token: number, position: number, within?: CheckpointStep): Promise<boolean>;
  /** Moves a checkpoint that is between the two positions to the second one, whichever owner has the claim. */
  noteHandled(name: string, from: number, position: number): Promise<void>;
  release(name: string, token: number): Promise<void>;
  /** The checkpoint of a subscription; null if it has never run. */
  checkpoint(name: string): Promise<number | null>;

  /** The subscriptions and projections, at most 1,000; with a prefix, all whose names begin with it. */
  subscriptions(prefix?: string): Promise<SubscriptionState[]>;
  /** The leases of subscriptions, projections and the archive. */
  leases(): Promise<readonly ShownLease[]>;

  /** Calls back when there may be new events or a subscription is free. */
  onChange(listener: () => void): () => void;
  /** Runs a function once the transaction around the caller, or the given one, is committed; at once without one. */
  afterCommit(run: () => void, within?: Queries): void;
  open(): Promise<void>;
  close(): Promise<void>;
}
