export { Aggregate, type AggregateClass, type AnyAggregate, type EventsOf } from "../patterns/events/aggregate.js";
export { causedBy } from "../patterns/events/cause.js";
export { type ArchivePolicy, EventSourcingConfig, type EventSourcingOptions } from "../patterns/events/config.js";
export { type Decider, decider } from "../patterns/events/decider.js";
export {
  AggregateNotFound,
  ConcurrencyError,
  EventIdError,
  EventVersionError,
  type ExpectedVersion,
  StreamArchivedError,
} from "../patterns/events/errors.js";
export type { EventMap, EventMetadata, NewEvent, PlainEvent, RecordedEvent } from "../patterns/events/event.js";
export type { EventReader } from "../patterns/events/event-reader.js";
export type { EventStore } from "../patterns/events/event-store.js";
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
} from "../patterns/events/options.js";
export { erasedText, type PersonalFieldsOf, type PersonalOptions } from "../patterns/events/personal/personal.js";
export {
  type EventSource,
  type Projection,
  type ProjectionContext,
  type ProjectionOptions,
  type ProjectionTables,
  projection,
} from "../patterns/events/projections/projection.js";
export type { DeciderRepository, Repository } from "../patterns/events/repository.js";
export type {
  EventContext,
  EventHandler,
  EventSubscription,
  SubscriptionOptions,
} from "../patterns/events/subscription.js";
