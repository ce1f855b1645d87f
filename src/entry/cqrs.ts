export type { MessageRoute } from "../patterns/cqrs/bus.js";
export type {
  BusContext,
  BusMiddleware,
  CommandResult,
  ExecuteOptions,
  QueryResult,
} from "../patterns/cqrs/bus-options.js";
export { CqrsConfig, type CqrsOptions } from "../patterns/cqrs/config.js";
export {
  type Command,
  type CommandOptions,
  CommandTimeout,
  command,
  IdempotencyError,
  type MessageContext,
  type Query,
  type QueryOptions,
  query,
} from "../patterns/cqrs/message.js";
