import type { Inject, Provided } from "../../../di/depends.js";
import { type Guard, isGuard } from "../../../guards/guard.js";
import { type Check, type Checks, is, readOptions, required } from "../../../internal/options.js";
import { ValueError } from "../../../internal/value-error.js";
import type { Transaction } from "../../db/database.js";
import type { Broker, BrokerName } from "../broker.js";
import type { Message } from "../message.js";
import { checkTopicName, type OutputOf, type Topic, type ValueSchema } from "../topic.js";
import type { MessageTransaction } from "../transaction.js";
import type { ProcessedStore } from "./processed.js";
import { type RetryOptions, type RetrySettings, readRetry } from "./retry.js";

/** Options of a consumer. Times are in seconds. */
export interface ConsumerOptions {
  /** The group: each message is handled by one consumer of each group. Default: that of the broker's configuration. */
  readonly group?: string;
  /** The broker, in an application that has several. */
  readonly broker?: BrokerName;
  /** Messages that are handled at a time. Those of one key are handled one after the other. Default 10. */
  readonly concurrency?: number;
  /** Messages that the broker hands over at a time. Default: that of the broker, or twice the concurrency. */
  readonly prefetch?: number;
  /** Attempts and pauses; false for one attempt. */
  readonly retry?: RetryOptions | false;
  /** The topic of messages that cannot be handled; false drops them. Default: the topic's name and `.dead`. */
  readonly deadLetter?: string | false;
  /** Seconds that the handler may take; 0 for no limit. Default 300. */
  readonly timeout?: number;
  /** Schema or model of the value, where the topic has none. */
  readonly schema?: ValueSchema;
  /** Guards that must all pass before the handler runs. A message that one refuses becomes a dead letter. */
  readonly guards?: readonly Guard[];
  /** Dependencies to inject, by the names that the handler uses. */
  readonly inject?: Inject;
  /** Handles each message id once: true, or the time to remember ids and the store that does. Default false. */
  readonly idempotent?: boolean | IdempotentOptions;
  /** Runs the handler in a transaction that stores the message id too, so its effect happens once. Default false. */
  readonly inbox?: boolean;
  /** Where a group that is new to the topic begins. Default "start", as far as the broker keeps messages. */
  readonly from?: "start" | "end";
  /** True delivers each message to every process, in place of one of the group. Default false. */
  readonly broadcast?: boolean;
  /** Deliveries without a result, as of a process that was killed, after which a message is a dead letter. Default 20. */
  readonly maxDeliveries?: number;
  /** Gives the handler a list of messages: at most so many at a time. Default: one message, not in a list. */
  readonly batch?: number | BatchOptions;
  /**
   * Publishes what the handler gives to `tx.publish`, and marks its messages as handled, all of it or nothing. One handler
   * runs at a time. Kafka and the memory broker only. Default false.
   */
  readonly transactional?: boolean;
}

/** Batches of messages for one call of a handler. */
export interface BatchOptions {
  /** The most messages of a batch. */
  readonly size: number;
  /** Seconds that a batch waits until it is full. Default 0: it takes the messages that are there. */
  readonly wait?: number;
}

export interface IdempotentOptions {
  /** Seconds that ids are remembered. Default 86400. */
  readonly keep?: number;
  /** Default: the key-value store, or the memory of the process without one. */
  readonly store?: ProcessedStore;
}

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
  readonly idempotent: { readonly keep: number; readonly store: ProcessedStore | null } | null;
  readonly from: "start" | "end";
  readonly broadcast: boolean;
  readonly maxDeliveries: number;
  /** Null for a handler of single messages. `wait` in milliseconds. */
  readonly batch: { readonly size: number; readonly wait: number } | null;
  readonly transactional: boolean;
}

const isTopicName: Check = (value) => {
  try {
    checkTopicName(value);
    return undefined;
  } catch {
    return "a topic's name";
  }
};

const checks: Checks<ConsumerOptions> = {
  group: isTopicName,
  broker: is.oneOf("memory", "kafka", "amqp", "sqs"),
  concurrency: is.integer(1, 10_000),
  prefetch: is.integer(1, 100_000),
  retry: is.either(is.oneOf(false), is.object),
  deadLetter: is.either(is.oneOf(false), isTopicName),
  timeout: is.number(0, 86_400),
  schema: is.object,
  guards: is.list((value) => (isGuard(value) ? undefined : "a guard (a function, or an object with check)")),
  inject: is.object,
  idempotent: is.either(is.boolean, is.object),
  inbox: is.boolean,
  from: is.oneOf("start", "end"),
  broadcast: is.boolean,
  maxDeliveries: is.integer(1, 1000),
  batch: is.either(is.integer(1, 10_000), is.object),
  transactional: is.boolean,
};

const batchChecks: Checks<BatchOptions> = { size: is.integer(1, 10_000), wait: is.number(0, 60) };

const idempotentChecks: Checks<IdempotentOptions> = { keep: is.number(1), store: is.object };

/** Checks the options when they are given, before there is a broker. */
export function readConsumerOptions(owner: string, given: unknown): Partial<ConsumerOptions> {
  const options = readOptions<ConsumerOptions>(owner, given, { ...checks, schema: isSchemaOption });
  if (options.retry !== undefined) readRetry(owner, options.retry);
  if (typeof options.idempotent === "object") {
    readOptions<IdempotentOptions>(`'idempotent' of ${owner}`, options.idempotent, idempotentChecks);
  }
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
  options: Partial<ConsumerOptions>,
  broker: Broker,
  processId: string,
): ConsumerSettings {
  const { idempotent, deadLetter = `${topic.name}.dead`, broadcast = false } = options;
  const owner = `the consumer of '${topic.name}'`;
  const batch = readBatch(owner, options.batch);
  const transactional = options.transactional ?? false;
  // Batches make few calls: one at a time, unless the program wants more.
  const usual = batch !== null || transactional ? 1 : 10;
  const concurrency = options.concurrency ?? Math.min(usual, options.prefetch ?? usual);
  const room = concurrency * (batch?.size ?? 1);
  return {
    group: broadcast ? `broadcast-${processId}` : (options.group ?? broker.defaultGroup),
    concurrency,
    prefetch:
      options.prefetch ??
      Math.max(broker.defaultPrefetch ?? 0, batch === null && broker.defaultPrefetch !== null ? room : room * 2),
    retry: readRetry(owner, options.retry),
    // A broadcast reaches every process: one that fails in all of them would be there many times.
    deadLetter: deadLetter === false || broadcast ? null : deadLetter,
    timeout: (options.timeout ?? 300) * 1000,
    schema: options.schema ?? topic.schema,
    guards: options.guards ?? [],
    inject: options.inject ?? null,
    idempotent: idempotent ? readIdempotent(idempotent) : null,
    inbox: options.inbox ?? false,
    from: options.from ?? (broadcast ? "end" : "start"),
    broadcast,
    maxDeliveries: options.maxDeliveries ?? 20,
    batch,
    transactional,
  };
}

function readBatch(owner: string, given: unknown): ConsumerSettings["batch"] {
  if (given === undefined) return null;
  if (typeof given === "number") return { size: given, wait: 0 };
  const options = readOptions<BatchOptions>(`'batch' of ${owner}`, given, batchChecks);
  return { size: required(`'batch' of ${owner}`, options, "size"), wait: (options.wait ?? 0) * 1000 };
}

function readIdempotent(given: true | IdempotentOptions): { keep: number; store: ProcessedStore | null } {
  const { keep = 86_400, store = null } = given === true ? {} : given;
  return { keep: keep * 1000, store };
}

const isSchemaOption: Check = (value) =>
  (typeof value === "object" && value !== null) || typeof value === "function"
    ? undefined
    : "a schema (zod, valibot, arktype ...) or a model";
