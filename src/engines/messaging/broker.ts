import type { Check } from "../../kit/options.js";
import type { MessagingError } from "./errors.js";

/**
 * The contract of brokers. A broker moves records and knows nothing of handlers: concurrency, order, retries, dead
 * letters, validation, idempotency, metrics and traces are written once, above this interface (consume/, publish/).
 */
export interface Broker {
  /** The name that topics and consumers use: `memory`, `kafka`, `amqp`, `sqs`, or that of a driver from outside. */
  readonly name: BrokerName;
  readonly abilities: BrokerAbilities;
  /** The group of consumers that name none. */
  readonly defaultGroup: string;
  /** Unsettled deliveries of a consumer that names no number. Default twice its concurrency. */
  readonly defaultPrefetch?: number | null;
  /** True if `defaultPrefetch` was given: no consumer that names no number takes more, whatever its concurrency is. */
  readonly boundsPrefetch?: boolean;
  /** Connects. Rejects with a clear error if that is not possible. */
  open(): Promise<void>;
  /** Asks the broker for a sign of life. */
  ping(signal?: AbortSignal): Promise<unknown>;
  /**
   * Sends records, in this order. Resolves when the broker has confirmed or refused each: one entry for each record, null
   * for one that is safe. Rejects only if the fate of all is the same. With `ordered`, a broker that gets records of one key
   * at a time does not send those of a key behind one that was refused.
   */
  publish(
    records: readonly OutgoingRecord[],
    options?: { readonly ordered?: boolean },
  ): Promise<readonly (MessagingError | null)[]>;
  /**
   * Opens a way to publish on which many records can be under way and keep their order. Absent where one batch has to wait
   * for the one before.
   */
  publishWay?(): Promise<PublishWay>;
  /** Opens a consumer. It delivers until it is stopped or reports a failure; then it is closed and opened again. */
  consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer>;
  /**
   * Shows the stored records of a topic, oldest first and at most `limit`, without consuming them: for dead letters. A
   * record is removed if the visitor resolves to "remove".
   */
  browse(topic: string, limit: number, visit: BrowseVisitor): Promise<void>;
  /**
   * Publishes records and settles deliveries of its own consumers, all of it or nothing. Absent where the broker has no
   * transactions.
   */
  transact?(records: readonly OutgoingRecord[], deliveries: readonly Delivery[]): Promise<void>;
  /**
   * Tells of all topics before it resolves, and again as they change, until the function that it resolves to is called: for
   * consumers by pattern. Absent where the broker cannot list its topics.
   */
  watchTopics?(watcher: TopicWatcher): Promise<() => void>;
  /** The broker's own way back for replies. Absent where replies go through a topic. */
  readonly replies?: BrokerReplies;
  close(): Promise<void>;
}

/** The receiver of the names of topics. */
export interface TopicWatcher {
  /** Takes the names of all topics, without those of the broker itself. */
  found(names: readonly string[]): void;
  /** The topics could not be listed this time. */
  failed(error: unknown): void;
}

/** One connection for publishes. When it has broken, all calls give UNREACHABLE: nothing on it can overtake what failed. */
export interface PublishWay {
  /** Sends a record. Calls `ended` once, when the broker has confirmed (null) or refused it, or the way broke. Never throws. */
  publish(record: OutgoingRecord, ended: (error: MessagingError | null) => void): void;
  /** Breaks the way, since it confirms too little. May be called several times. Never throws. */
  end?(): void;
}

/** A way for replies to one process. */
export interface BrokerReplies {
  /** Written into requests, in the header `stoa-reply-to`: a name that ends in `.replies`, or `amq.` and more. */
  readonly address: string;
  /** Takes the replies; set before the first request. */
  receive: ((record: IncomingRecord) => void) | null;
  /** Sends a reply, once. The message names its place: a wrong one must not disturb anything but replies. */
  send(record: OutgoingRecord): Promise<void>;
}

/** The names that editors offer. The package of a driver adds its own by declaration merging. */
export interface BrokerNames {
  readonly memory: true;
  readonly kafka: true;
  readonly amqp: true;
  readonly sqs: true;
}

/** The name of a broker: one of those above, or any other that the application has installed. */
export type BrokerName = keyof BrokerNames | (string & {});

/** Checks the form of a name. Whether the application has such a broker is known at its start. */
export const isBrokerName: Check<BrokerName> = (value) =>
  typeof value === "string" && /^[a-z][a-z0-9_]{0,39}$/.test(value)
    ? undefined
    : "the name of a broker: lower-case letters, digits and '_'";

export interface BrokerAbilities {
  /** The longest delay of a publish; 0 for a broker that cannot delay. */
  readonly maxDelayMs: number;
  /** True if every process can have its own copy of each message. */
  readonly broadcast: boolean;
  /** True if a consumer can go back to older messages. */
  readonly seek: boolean;
  /** The largest message in bytes, headers included. */
  readonly maxBytes: number;
}

export interface OutgoingRecord {
  readonly topic: string;
  /** Never used twice: a UUID. */
  readonly id: string;
  /** Records of one key keep their order. */
  readonly key: string | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** Time until it may be delivered. */
  readonly delayMs: number;
  /** True if `topic` is the place of a reply, which a message has named: it must not be created. */
  readonly direct?: boolean;
  /** Takes what the broker tells of the place of the record, by the names of OpenTelemetry. Only for a record with a span. */
  readonly placed?: (attributes: Readonly<Record<string, string | number>>) => void;
  /** True for a copy of a message that another program may have published: it may be as large as the broker takes. */
  readonly foreign?: boolean;
}

export interface IncomingRecord {
  /** The id given at the publish; for foreign records one that stays the same when the record is delivered again. */
  readonly id: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timestamp: number;
}

/** Looks at a stored record, and says if it is removed. */
export type BrowseVisitor = (record: IncomingRecord) => Promise<"keep" | "remove">;

/** One record, lent to a consumer until it is settled. Each is settled once, by one of the functions. */
export interface Delivery {
  readonly record: IncomingRecord;
  /** Times that the broker has delivered the record before without a result; 0 where it does not count. */
  readonly earlier: number;
  /** The reason if the record stands for bytes that cannot be read. It is not handled, but becomes a dead letter. */
  readonly unreadable?: MessagingError | undefined;
  /**
   * Names the stored record: the same at each of its deliveries, and no other record has it. Null or absent where that cannot
   * be told.
   */
  readonly identity?: string | null;
  /** True if the broker says that it has never delivered the record: one of the same identity is another one. */
  readonly isFirst?: boolean;
  /** Attributes of its span: what the broker knows of the place of the record, by the names of OpenTelemetry. */
  readonly spanAttributes?: Readonly<Record<string, string | number>>;
  /** The record is done. Throws or rejects with LOST if it now belongs to another consumer. */
  ack(): Promise<void> | void;
  /** Gives the record back as it is, for any consumer of the group. */
  release(): Promise<void>;
  /** The consumer lets the record wait for its next attempt, and can take others during that time. */
  wait?(): void;
  /**
   * Gives the record back with other headers, for this group alone, and not before the delay has passed. Absent where the
   * broker cannot: the consumer then waits itself.
   */
  retry?(headers: Readonly<Record<string, string>>, delayMs: number): Promise<void>;
}

export interface ConsumeRequest {
  readonly topic: string;
  readonly group: string;
  /** The most deliveries that are unsettled at a time. */
  readonly prefetch: number;
  /** Where a group that is new to the topic begins. */
  readonly from: "start" | "end";
  /** True if the group is that of this process alone and ends with it. */
  readonly broadcast: boolean;
  /** Created with the consumer, so that it exists when it is needed. */
  readonly deadLetterTopic: string | null;
  /** Deliveries without a result after which the record is a dead letter. */
  readonly maxDeliveries: number;
  /** True if the topic must exist: it was found by a pattern, and is not created again when it is deleted. */
  readonly mustExist?: boolean;
}

/** The receiver of deliveries. */
export interface DeliverySink {
  deliver(delivery: Delivery): void;
  /** The delivery now belongs to another consumer: its result does not count. */
  lost(delivery: Delivery): void;
  /**
   * Begins no further work until `resume`: of all deliveries, or of those that are held. Resolves when their work that runs has
   * ended, or after `timeoutMs`.
   */
  hold?(timeoutMs: number, isHeld?: (delivery: Delivery) => boolean): Promise<void>;
  resume?(): void;
  /** Records of these identities were acknowledged, but the broker may not have heard of it: they may come again. */
  unconfirmed?(identities: Iterable<string>): void;
  /** The consumer has ended with an error. All its deliveries are lost. */
  failed(error: unknown): void;
}

export interface BrokerConsumer {
  pause(): void;
  resume(): void;
  /** Stops the deliveries. Those under way can still be settled. */
  stop(): Promise<void>;
  /** Leaves the group. Unsettled deliveries go to others. */
  close(): Promise<void>;
  /** Records of the topic that the group has not handled yet; null if unknown. */
  lag(): Promise<number | null>;
  /** The same by the numbers of partitions. Absent where the broker has none. */
  lags?(): Promise<ReadonlyMap<number, number> | null>;
  /**
   * Goes to the oldest record, the end, the first record of that time on, or an offset of a partition. A broker without
   * partitions refuses the last.
   */
  seek?(to: SeekTarget): Promise<void>;
}

/** A place in a topic: one of its ends, the first message of a time, or an offset of a partition. */
export type SeekTarget = "start" | "end" | Date | PartitionOffset;

export interface PartitionOffset {
  readonly partition: number;
  readonly offset: number | bigint;
}
