import type { Request, RequestContext } from "../../../http/request.js";
import { type Checks, is, readOptions } from "../../../internal/options.js";
import { type Origins, socketOptionChecks } from "../../../websocket/options.js";

export interface SubscriptionOptions {
  /**
   * Authenticates a WebSocket by the payload of its `connection_init` message, since browsers cannot send an Authorization
   * header with one. False closes the connection with 4403. The members of a returned object are added to
   * `request.context`.
   */
  onConnect?: (payload: Readonly<Record<string, unknown>>, request: Request) => ConnectResult | Promise<ConnectResult>;
  /** Seconds in which the client must send `connection_init`. Default 3. */
  initTimeout?: number;
  /** Operations that run at once on one WebSocket. Default 100. */
  maxPerConnection?: number;
  /** Subscriptions that are open at once in a process. Default 10,000. */
  maxPerProcess?: number;
  /** The pages that may open a WebSocket. Default: pages of the same host. */
  origins?: Origins;
  /** Seconds in which a client may take no event before it is disconnected. Default 30. */
  sendTimeout?: number;
}

export type ConnectResult = boolean | RequestContext;

export type SubscriptionSettings = Readonly<Required<Omit<SubscriptionOptions, "onConnect" | "origins">>> &
  Pick<SubscriptionOptions, "onConnect" | "origins">;

const checks: Checks<SubscriptionOptions> = {
  onConnect: is.function,
  initTimeout: is.number(0.001, 3600),
  maxPerConnection: is.integer(1, 100_000),
  maxPerProcess: is.integer(1, 10_000_000),
  origins: socketOptionChecks.origins,
  sendTimeout: socketOptionChecks.sendTimeout,
};

export function readSubscriptions(given: unknown): SubscriptionSettings {
  const options = readOptions<SubscriptionOptions>("option 'subscriptions' of GraphQLConfig", given, checks);
  return { initTimeout: 3, maxPerConnection: 100, maxPerProcess: 10_000, sendTimeout: 30, ...options };
}
