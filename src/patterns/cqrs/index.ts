export type { BusContext, BusMiddleware, CommandResult, ExecuteOptions, MessageRoute, QueryResult } from "./bus.js";
export { CqrsConfig, type CqrsOptions } from "./config.js";
export {
  type Command,
  CommandTimeout,
  command,
  IdempotencyError,
  type MessageContext,
  type MessageOptions,
  type Query,
  query,
} from "./message.js";
