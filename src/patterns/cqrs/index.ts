export type { MessageRoute } from "./bus.js";
export type { BusContext, BusMiddleware, CommandResult, ExecuteOptions, QueryResult } from "./bus-options.js";
export { CqrsConfig, type CqrsOptions } from "./config.js";
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
} from "./message.js";
