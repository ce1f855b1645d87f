import { config, is, option } from "stoa/feature";

/** The place of NATS, and the way to use it. */
export class NatsConfig extends config(
  "NatsConfig",
  {
    /** Servers to begin with. Default `["nats://127.0.0.1:4222"]`. */
    servers: option(is.list(is.text), ["nats://127.0.0.1:4222"]),
    /** The group of consumers that name none. Default: the name of the application, else "stoa". */
    groupId: option(is.text),
    /** A token for the login. Default none. */
    token: option.secret(is.text),
    /** Time for which a stream that is created keeps messages. Default 7 days. */
    maxAge: option.duration("7d", "1s"),
    /** Time after which a message without a result is delivered again. Long handlers renew it. Default 30 seconds. */
    ackWait: option.duration("30s", "1s"),
    /** Time to wait for a connection, and for a confirmation. Default 5 seconds. */
    connectTimeout: option.duration("5s", "1ms", "1h"),
  },
  { order: ["servers", "groupId"] },
) {}
