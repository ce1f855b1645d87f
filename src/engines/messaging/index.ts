export type { Outbox } from "../../patterns/outbox/feature.js";
export type {
  OutboxFailure,
  OutboxFilter,
  OutboxMessage,
  OutboxState,
  OutboxStatus,
} from "../../patterns/outbox/message.js";
export type { OutboxOptions } from "../../patterns/outbox/options.js";
/** Messages: topics, the client that publishes and consumes, and the contract of brokers. */
export { type AmqpBroker, createAmqpBroker } from "./amqp/amqp-broker.js";
export type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  BrokerName,
  BrokerReplies,
  ConsumeRequest,
  Delivery,
  DeliverySink,
  IncomingRecord,
  OutgoingRecord,
  PublishWay,
} from "./broker.js";
export type { DeadReason } from "./consume/attempt.js";
export type { Subscription, SubscriptionStats } from "./consume/consumer.js";
export type {
  BatchOptions,
  ConsumerOptions,
  IdempotentOptions,
  InboxMessage,
  MessageHandler,
} from "./consume/options.js";
export type { WorkResult } from "./consume/place.js";
export { type Claim, MemoryProcessedStore, type ProcessedStore } from "./consume/processed.js";
export type { RetryOptions } from "./consume/retry.js";
export type { DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetters } from "./dead-letters.js";
export { MessagingError, type MessagingErrorCode } from "./errors.js";
export { createKafkaBroker, type KafkaBroker } from "./kafka/kafka-broker.js";
export { MemoryBroker, type MemoryBrokerOptions } from "./memory/memory-broker.js";
export { MemoryHub } from "./memory/memory-hub.js";
export { Message } from "./message.js";
export type { Messaging } from "./messaging.js";
export { type OpenMessagingOptions, openMessaging } from "./open-messaging.js";
export type { PublishOptions } from "./publish/outgoing.js";
export type { BatchEntry, Published } from "./publish/published.js";
export type { RequestOptions } from "./requests.js";
export { createSqsBroker, type SqsBroker } from "./sqs/sqs-broker.js";
export { type Topic, type TopicOptions, topic, type ValueSchema } from "./topic.js";
export type { MessageTransaction } from "./transaction.js";
export { InvalidValueError } from "./values.js";
