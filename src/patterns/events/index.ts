export { Aggregate, type AggregateClass, type AnyAggregate, type EventsOf } from "./aggregate.js";
export { causedBy } from "./cause.js";
export { type ArchivePolicy, EventSourcingConfig, type EventSourcingOptions } from "./config.js";
export { type Decider, decider } from "./decider.js";
export {
  AggregateNotFound,
  ConcurrencyError,
  EventIdError,
  EventVersionError,
  type ExpectedVersion,
  StreamArchivedError,
} from "./errors.js";
export type { EventMap, EventMetadata, NewEvent, PlainEvent, RecordedEvent } from "./event.js";
export type { EventReader } from "./event-reader.js";
export type { EventStore } from "./event-store.js";
export type {
  AppendOptions,
  AppendResult,
  Decision,
  ForgetResult,
  ReadAllOptions,
  ReadOptions,
  SaveOptions,
  TruncateOptions,
  UpdateOptions,
} from "./options.js";
export { erasedText, type PersonalFieldsOf, type PersonalOptions } from "./personal.js";
export {
  type EventSource,
  type Projection,
  type ProjectionContext,
  type ProjectionOptions,
  type ProjectionTables,
  projection,
} from "./projection.js";
export type { DeciderRepository, Repository } from "./repository.js";
export type { EventContext, EventHandler, EventSubscription, SubscriptionOptions } from "./subscription.js";
