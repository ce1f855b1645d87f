import type { Request, RequestContext } from "../../../http/request.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import { type Origins, socketFields } from "../../../websocket/options.js";

export type ConnectResult = boolean | RequestContext;

type OnConnect = (
  payload: Readonly<Record<string, unknown>>,
  request: Request,
) => ConnectResult | Promise<ConnectResult>;

export const subscriptionOptions = options("option 'subscriptions' of GraphQLConfig", {
  /**
   * Authenticates a WebSocket by the payload of its `connection_init` message, since browsers cannot send an Authorization
   * header with one. False closes the connection with 4403. The members of a returned object are added to
   * `request.context`.
   */
  onConnect: option<OnConnect>(is.function),
  /** Time in which the client must send `connection_init`. Default 3 seconds. */
  initTimeout: option.duration("3s", "1ms", "1h"),
  /** Operations that run at once on one WebSocket, until their resolvers have ended. Default 100. */
  maxPerConnection: option(is.integer(1, 100_000), 100),
  /** Subscriptions that are open at once in a process. Default 10,000. */
  maxPerProcess: option(is.integer(1, 10_000_000), 10_000),
  /** The pages that may open a WebSocket. Default: pages of the same host. */
  origins: option<Origins>(socketFields.origins.check),
  /** Time in which a client may take no event before it is disconnected. Default 30 seconds. */
  sendTimeout: option.duration("30s", "1ms", "1d"),
});

export interface SubscriptionOptions extends OptionsOf<typeof subscriptionOptions.fields> {}
export type SubscriptionSettings = SettingsOf<typeof subscriptionOptions.fields>;
