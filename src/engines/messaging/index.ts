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
  ConsumeRequest,
  Delivery,
  DeliverySink,
  IncomingRecord,
  OutgoingRecord,
} from "./broker.js";
export type { DeadReason } from "./consume/attempt.js";
export type { Subscription, SubscriptionStats } from "./consume/consumer.js";
export type { ConsumerOptions, IdempotentOptions, InboxMessage, MessageHandler } from "./consume/options.js";
export { type Claim, MemoryProcessedStore, type ProcessedStore } from "./consume/processed.js";
export type { RetryOptions } from "./consume/retry.js";
export type { WorkResult } from "./consume/work.js";
export type { DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetters } from "./dead-letters.js";
export { MessagingError, type MessagingErrorCode } from "./errors.js";
export { createKafkaBroker, type KafkaBroker } from "./kafka/kafka-broker.js";
export { MemoryBroker, type MemoryBrokerOptions } from "./memory/memory-broker.js";
export { MemoryHub } from "./memory/memory-hub.js";
export { Message } from "./message.js";
export type { BatchEntry, Messaging, Published } from "./messaging.js";
export { type OpenMessagingOptions, openMessaging } from "./open-messaging.js";
export type { PublishOptions } from "./publish/outgoing.js";
export { createSqsBroker, type SqsBroker } from "./sqs/sqs-broker.js";
export { type Topic, type TopicOptions, topic, type ValueSchema } from "./topic.js";
export { InvalidValueError } from "./values.js";
