/** Messages: topics, the client that publishes and consumes, and the contract of brokers. */
export { type AmqpBroker, createAmqpBroker } from "../engines/messaging/amqp/amqp-broker.js";
export type { AsyncapiOptions } from "../engines/messaging/asyncapi/options.js";
export type { AsyncApiDocument } from "../engines/messaging/asyncapi/types.js";
export type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  BrokerName,
  BrokerNames,
  BrokerReplies,
  ConsumeRequest,
  Delivery,
  DeliverySink,
  IncomingRecord,
  OutgoingRecord,
  PartitionOffset,
  PublishWay,
  SeekTarget,
  TopicWatcher,
} from "../engines/messaging/broker.js";
export type { Subscription, SubscriptionStats } from "../engines/messaging/consume/consumer.js";
export type { WorkResult } from "../engines/messaging/consume/in-flight-message.js";
export type {
  BatchOptions,
  ConsumerOptions,
  IdempotentOptions,
  InboxMessage,
  MessageHandler,
} from "../engines/messaging/consume/options.js";
export type { DeadReason } from "../engines/messaging/consume/outcome.js";
export { type Claim, MemoryProcessedStore, type ProcessedStore } from "../engines/messaging/consume/processed.js";
export type { RetryOptions } from "../engines/messaging/consume/retry.js";
export type { DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetters } from "../engines/messaging/dead-letters.js";
export {
  type BrokerContext,
  type BrokerDefinition,
  type BrokerFeature,
  defineBroker,
} from "../engines/messaging/define-broker.js";
export { MessagingError, type MessagingErrorCode } from "../engines/messaging/errors.js";
export { createKafkaBroker, type KafkaBroker } from "../engines/messaging/kafka/kafka-broker.js";
export { MemoryBroker, type MemoryBrokerOptions } from "../engines/messaging/memory/memory-broker.js";
export { MemoryHub } from "../engines/messaging/memory/memory-hub.js";
export { Message, type NackOptions, type RequeueOptions } from "../engines/messaging/message.js";
export type { Messaging } from "../engines/messaging/messaging.js";
export { type OpenMessagingOptions, openMessaging } from "../engines/messaging/open-messaging.js";
export type { BatchEntry, Published, PublishedValue, PublishOptions } from "../engines/messaging/publish/outgoing.js";
export {
  type AvroSchema,
  SchemaRegistry,
  type SchemaRegistryAuth,
  type SchemaRegistryOptions,
} from "../engines/messaging/registry/schema-registry.js";
export type { RequestOptions } from "../engines/messaging/requests.js";
export { createSqsBroker, type SqsBroker } from "../engines/messaging/sqs/sqs-broker.js";
export { type Topic, type TopicOptions, topic, type ValueSchema } from "../engines/messaging/topic.js";
export type { MessageTransaction, MessageTransactionOptions } from "../engines/messaging/transaction.js";
export { InvalidValueError } from "../engines/messaging/values.js";
export type { Outbox } from "../patterns/outbox/feature.js";
export type {
  OutboxFailure,
  OutboxFilter,
  OutboxMessage,
  OutboxState,
  OutboxStatus,
} from "../patterns/outbox/message.js";
export type { OutboxOptions } from "../patterns/outbox/options.js";
