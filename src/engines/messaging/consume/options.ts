import { type Inject, isInject, type Provided } from "../../../di/depends.js";
import type { Guard } from "../../../guards/guard.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { type Check, is } from "../../../kit/options.js";
import { milliseconds } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import { isGuardOption } from "../../../routing/options.js";
import type { OutputOf } from "../../../validation/body-validator.js";
import type { Transaction } from "../../db/database.js";
import { type Broker, isBrokerName } from "../broker.js";
import type { Message } from "../message.js";
import { checkTopicName, type Topic, type ValueSchema } from "../topic.js";
import type { MessageTransaction } from "../transaction.js";
import type { ProcessedStore } from "./processed.js";
import { type RetryOptions, type RetrySettings, readRetry } from "./retry.js";

const isTopicName: Check<string> = (value) => {
  try {
    checkTopicName(value);
    return undefined;
  } catch {
    return "a topic's name";
  }
};

const isSchemaOption: Check<ValueSchema> = (value) =>
  (typeof value === "object" && value !== null) || typeof value === "function"
    ? undefined
    : "a schema (zod, valibot, arktype ...) or a model";

const batchOptions = options("batch", {
  /** The most messages of a batch. */
  size: option.required(is.integer(1, 10_000)),
  /** Time that a batch waits until it is full. Default 0: it takes the messages that have arrived. */
  wait: option.duration(0, 0, "1m"),
});

/** Batches of messages for one call of a handler. */
export interface BatchOptions extends OptionsOf<typeof batchOptions.fields> {
  readonly size: number;
}

const idempotentOptions = options("idempotent", {
  /** Time for which ids are remembered. Default 1 day. */
  keep: option.duration("1d", "1s"),
  /** Default: the key-value store, or the memory of the process without one. */
  store: option<ProcessedStore>(is.object),
});

export interface IdempotentOptions extends OptionsOf<typeof idempotentOptions.fields> {}

const consumerOptions = options("a consumer", {
  /** The group: each message is handled by one consumer of each group. Default: that of the broker's configuration. */
  group: option(isTopicName),
  /** The broker, in an application that has several. */
  broker: option(isBrokerName),
  /** Messages that are handled at a time. Those of one key are handled one after the other. Default 10. */
  concurrency: option(is.integer(1, 10_000)),
  /** Messages that the broker hands over at a time. Default: that of the broker, or twice the concurrency. */
  prefetch: option(is.integer(1, 100_000)),
  /** Attempts and pauses; false for one attempt. */
  retry: option<RetryOptions | false>(is.either(is.oneOf(false), is.object)),
  /** The topic of messages that cannot be handled; false drops them. Default: the topic's name and `.dead`. */
  deadLetter: option<string | false>(is.either(is.oneOf(false), isTopicName)),
  /** Time that the handler may take; 0 for no limit. Default 5 minutes. */
  timeout: option.duration("5m", 0, "1d"),
  /** Schema or model of the value, where the topic has none. */
  schema: option(isSchemaOption),
  /** Guards that must all pass before the handler runs. A message that one refuses becomes a dead letter. */
  guards: option(is.list(isGuardOption)),
  /** Dependencies to inject, by the names that the handler uses. */
  inject: option(isInject),
  /** Handles each message id once: true, or the time to remember ids and the store that does. Default false. */
  idempotent: option<boolean | IdempotentOptions>(is.either(is.boolean, is.object)),
  /** Runs the handler in a transaction that stores the message id too, so its effect happens once. Default false. */
  inbox: option(is.boolean),
  /** Where a group that is new to the topic begins. Default "start", as far as the broker keeps messages. */
  from: option(is.oneOf("start", "end")),
  /** True delivers each message to every process, in place of one of the group. Default false. */
  broadcast: option(is.boolean),
  /** Deliveries without a result, as of a process that was killed, after which a message is a dead letter. Default 20. */
  maxDeliveries: option(is.integer(1, 1000)),
  /** Gives the handler a list of messages: at most so many at a time. Default: one message, not in a list. */
  batch: option<number | BatchOptions>(is.either(is.integer(1, 10_000), is.object)),
  /**
   * Publishes what the handler gives to `tx.publish`, and marks its messages as handled, all of it or nothing. One handler
   * runs at a time. Kafka and the memory broker only. Default false.
   */
  transactional: option(is.boolean),
  /** A short description of the handler, in the AsyncAPI document. Default: the name of its function. */
  summary: option(is.string),
  /** The description of the handler, in the AsyncAPI document. */
  description: option(is.string),
  /** Leaves the handler out of the AsyncAPI document. Default false. */
  hidden: option(is.boolean),
});

/** Options of a consumer. */
export interface ConsumerOptions extends OptionsOf<typeof consumerOptions.fields> {}

/** The options that were given, checked; the timeout is in seconds. */
export type GivenConsumerOptions = Partial<SettingsOf<typeof consumerOptions.fields>>;

/** The handler of messages. */
export type MessageHandler<T, Options> = (
  ...args: HandlerArguments<ReceivedValue<T, Options>, Options>
) => Options extends { readonly batch: number | BatchOptions } ? unknown : HandlerResult<T>;

type HandlerArguments<Value, Options> = Options extends { readonly batch: number | BatchOptions }
  ? [messages: readonly Message<Value>[], injected: InjectedOf<Options> & TransactionOf<Options>]
  : [
      message: Options extends { readonly inbox: true } ? InboxMessage<Value> : Message<Value>,
      injected: InjectedOf<Options> & TransactionOf<Options>,
    ];

type InjectedOf<Options> = Options extends { readonly inject: infer I } ? Provided<I> : Record<never, never>;
type TransactionOf<Options> = Options extends { readonly transactional: true }
  ? { readonly tx: MessageTransaction }
  : Record<never, never>;

/** The value that a handler returns: the reply, where the topic has one. */
type HandlerResult<T> =
  T extends Topic<never, unknown, infer Reply> ? (unknown extends Reply ? unknown : Reply | Promise<Reply>) : unknown;

/** A message whose handler runs in a transaction. */
export type InboxMessage<Value = unknown> = Message<Value> & { readonly tx: Transaction };

/** The type of the value that a handler gets: from the topic, else from the schema of the options. */
export type ReceivedValue<T, Options> =
  T extends Topic<never, infer Out, infer _Reply>
    ? Out
    : Options extends { readonly schema: infer S }
      ? OutputOf<S>
      : unknown;

/** The options of a consumer as they were read, with all defaults. */
export interface ConsumerSettings {
  readonly group: string;
  readonly concurrency: number;
  readonly prefetch: number;
  readonly retry: RetrySettings;
  readonly deadLetter: string | null;
  /** Milliseconds; 0 for none. */
  readonly timeout: number;
  readonly schema: ValueSchema | null;
  readonly guards: readonly Guard[];
  readonly inject: Inject | null;
  readonly inbox: boolean;
  /** `keep` in milliseconds. */
  readonly idempotent: { readonly keep: number; readonly store: ProcessedStore | null } | null;
  readonly from: "start" | "end";
  readonly broadcast: boolean;
  readonly maxDeliveries: number;
  /** Null for a handler of single messages. `wait` in milliseconds. */
  readonly batch: { readonly size: number; readonly wait: number } | null;
  readonly transactional: boolean;
}

/** Checks the options when they are given, before there is a broker. */
export function readConsumerOptions(owner: string, given: unknown): GivenConsumerOptions {
  const options = consumerOptions.readGiven([given], owner);
  if (options.retry !== undefined) readRetry(owner, options.retry);
  readIdempotent(owner, options.idempotent);
  if (options.broadcast === true && options.group !== undefined) {
    throw new ValueError(`${owner} has both 'broadcast' and 'group': a broadcast goes to every process`);
  }
  if (options.inbox === true && (options.broadcast === true || options.idempotent)) {
    const other = options.broadcast === true ? "broadcast" : "idempotent";
    throw new ValueError(
      `${owner} has both 'inbox' and '${other}': the effect of an inbox happens once for all processes`,
    );
  }
  if (options.inbox === true && (options.batch !== undefined || options.transactional === true)) {
    const other = options.batch === undefined ? "transactional" : "batch";
    throw new ValueError(
      `${owner} has both 'inbox' and '${other}': an inbox handles each message in its own transaction`,
    );
  }
  const batch = readBatch(owner, options.batch);
  if (options.transactional === true && (options.concurrency ?? 1) > 1) {
    throw new ValueError(`${owner} is transactional: it handles one message or batch at a time, not 'concurrency'`);
  }
  if (options.prefetch !== undefined && options.prefetch < (options.concurrency ?? 1) * (batch?.size ?? 1)) {
    const most = batch === null ? "'concurrency'" : "'concurrency' times the size of a batch";
    throw new ValueError(`option 'prefetch' in ${owner} must not be smaller than ${most}`);
  }
  return options;
}

/** Fills in the defaults, some of which are those of the broker. */
export function consumerSettings(
  topic: Topic,
  options: GivenConsumerOptions,
  broker: Broker,
  consumerId: string,
): ConsumerSettings {
  const { idempotent, deadLetter = `${topic.name}.dead`, broadcast = false } = options;
  const owner = `the consumer of '${topic.name}'`;
  const batch = readBatch(owner, options.batch);
  const transactional = options.transactional ?? false;
  // Batches make few calls: one at a time, unless the program wants more.
  const usual = batch !== null || transactional ? 1 : 10;
  const concurrency = options.concurrency ?? Math.min(usual, options.prefetch ?? usual);
  const room = concurrency * (batch?.size ?? 1);
  const { defaultPrefetch = null } = broker;
  const usualPrefetch = Math.max(defaultPrefetch ?? 0, batch === null && defaultPrefetch !== null ? room : room * 2);
  return {
    group: broadcast ? `broadcast-${consumerId}` : (options.group ?? broker.defaultGroup),
    concurrency,
    prefetch: options.prefetch ?? (broker.boundsPrefetch ? defaultPrefetch : null) ?? usualPrefetch,
    retry: readRetry(owner, options.retry),
    // A broadcast reaches every process: one that fails in all of them would be there many times.
    deadLetter: deadLetter === false || broadcast ? null : deadLetter,
    timeout: milliseconds(options.timeout ?? consumerOptions.fields.timeout.fallback),
    schema: options.schema ?? topic.schema,
    guards: options.guards ?? [],
    inject: options.inject ?? null,
    idempotent: readIdempotent(owner, idempotent),
    inbox: options.inbox ?? false,
    from: options.from ?? (broadcast ? "end" : "start"),
    broadcast,
    maxDeliveries: options.maxDeliveries ?? 20,
    batch,
    transactional,
  };
}

/** The warning of a consumer that can never handle as many messages at a time as it says; false if it can. */
export function prefetchWarning(topic: Topic, options: GivenConsumerOptions, broker: Broker): string | false {
  const { concurrency, batch, prefetch } = consumerSettings(topic, options, broker, "");
  const room = concurrency * (batch?.size ?? 1);
  // The program has not chosen the default of the concurrency.
  if (prefetch >= room || (options.concurrency === undefined && batch === null)) return false;
  const wanted = batch === null ? `'concurrency' is ${concurrency}` : `${concurrency} x ${batch.size} of 'batch'`;
  return (
    `the consumer of '${topic.name}' gets at most ${prefetch} messages at a time, not ${room} (${wanted}): ` +
    `the configuration of the ${broker.name} broker says so. Raise it there, or set 'prefetch' of the consumer to ${room}`
  );
}

function readBatch(owner: string, given: number | BatchOptions | undefined): ConsumerSettings["batch"] {
  if (given === undefined) return null;
  const { size, wait } = batchOptions.read(
    [typeof given === "number" ? { size: given } : given],
    `'batch' of ${owner}`,
  );
  return { size, wait: milliseconds(wait) };
}

function readIdempotent(owner: string, given: boolean | IdempotentOptions | undefined): ConsumerSettings["idempotent"] {
  if (given === undefined || given === false) return null;
  const { keep, store = null } = idempotentOptions.read([given === true ? {} : given], `'idempotent' of ${owner}`);
  return { keep: milliseconds(keep), store };
}
