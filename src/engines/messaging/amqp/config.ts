import { config, type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { inspectSymbol } from "../../../kit/node-modules.js";
import { type Check, is, isPlainObject } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import { tlsFields } from "../../tls-options.js";

type Bindings = Readonly<Record<string, readonly string[] | Readonly<Record<string, string>>>>;

/** Arguments of queues that the framework sets. */
const ownArguments = [
  "x-queue-type",
  "x-delivery-limit",
  "x-dead-letter-exchange",
  "x-dead-letter-routing-key",
  "x-single-active-consumer",
  "x-expires",
];

const isArguments: Check<Readonly<Record<string, string | number | boolean>>> = (value) =>
  isPlainObject(value) &&
  Object.entries(value).every(
    ([name, each]) => !ownArguments.includes(name) && ["string", "number", "boolean"].includes(typeof each),
  )
    ? undefined
    : `an object of texts, numbers and booleans, without ${ownArguments.join(", ")}`;

const topicOptions = options("a topic of AmqpConfig", {
  /** The exchange. Default: the name of the topic. */
  exchange: option(is.text),
  /** The kind of the exchange. Default "fanout": every group gets every message. The routing key is the message's key. */
  type: option(is.oneOf("fanout", "direct", "topic", "headers")),
  /** For each group the routing keys of its queue, or for an exchange of headers the header values to match. */
  bindings: option<Bindings>(is.object),
  /** True delivers the messages of a group to one process at a time, so each key keeps its order. Default false. */
  singleActiveConsumer: option(is.boolean),
  /** Further arguments of the queues of its groups: `{ "x-max-length": 100000 }`. */
  arguments: option(isArguments),
});

const tlsOptions = options("option 'tls' of AmqpConfig", tlsFields);

/** Routing of one topic, where every group is not to get every message. */
export interface AmqpTopicOptions extends OptionsOf<typeof topicOptions.fields> {}

/** TLS of the connection. Certificates and keys are PEM texts, not paths. */
export interface AmqpTlsOptions extends OptionsOf<typeof tlsFields> {}

const isUrl: Check<string> = (value) =>
  typeof value === "string" && /^amqps?:\/\//.test(value) && URL.canParse(value)
    ? undefined
    : "a URL: amqp://user:password@host:5672/vhost";

const isHost: Check<string> = (value) =>
  typeof value === "string" && /^[^\s/@?#]+$/.test(value) && URL.canParse(`amqp://${value}`)
    ? undefined
    : "an address: host or host:port";

const fields = {
  /** `amqp://user:password@host:5672/vhost`; with TLS `amqps://`. Default `amqp://guest:guest@127.0.0.1:5672`. */
  url: option.secret(isUrl, String, "amqp://guest:guest@127.0.0.1:5672"),
  /** Further nodes of the cluster, `["10.0.0.2:5672"]`, with the user, the password and the rest of `url`. Default none. */
  hosts: option(is.list(isHost), []),
  /** Messages that the broker hands over to a consumer at a time. Default 20. */
  prefetchCount: option(is.integer(1, 65_535), 20),
  /** The group of consumers that name none. Default: the application's name, else `stoa`. */
  groupId: option(is.text, "stoa", "the application's name, else `stoa`"),
  /** The kind of the queues. Default "quorum". */
  queueType: option(is.oneOf("quorum", "classic"), "quorum"),
  /** The kind of the queues of dead letters: "quorum" has replicas on several nodes. Default "classic". */
  deadLetterQueueType: option(is.oneOf("quorum", "classic"), "classic"),
  /** Deliveries without a result after which the broker itself makes a dead letter; quorum queues only. Default 50. */
  deliveryLimit: option(is.integer(1, 100_000), 50),
  /** True rejects a publish that no queue would receive. Default true. */
  mandatory: option(is.boolean, true),
  /** Routing of topics by their name. */
  topics: option<Readonly<Record<string, AmqpTopicOptions>>>(is.object, {}),
  /** Time between signs of life on the connection, in whole seconds. Default 10 seconds. */
  heartbeat: option.duration("10s", "1s", "1h"),
  /** Time to wait for a connection. Default 5 seconds. */
  connectTimeout: option.duration("5s", "1ms", "24d"),
  /** TLS of the connection, for `amqps://`. */
  tls: option.secret<EitherSpelling<AmqpTlsOptions>, AmqpTlsOptions>(
    is.object,
    (given) => tlsOptions.readGiven([given]),
    {},
  ),
};

export interface AmqpOptions extends OptionsOf<typeof fields> {}

const Base = config("AmqpConfig", fields, {
  order: ["url", "prefetchCount"],
  refine({ topics, heartbeat, queueType }, given) {
    if (given.deliveryLimit !== undefined && queueType === "classic") {
      throw new ValueError("option 'deliveryLimit' in AmqpConfig goes with queueType \"quorum\" only");
    }
    for (const [name, topic] of Object.entries(topics)) {
      const { type = "fanout", bindings } = topicOptions.readGiven([topic], `the topic '${name}' of AmqpConfig`);
      if (type === "fanout" && bindings !== undefined) {
        throw new ValueError(
          `option 'bindings' in the topic '${name}' of AmqpConfig goes with another 'type': a fanout exchange sends all messages to all groups`,
        );
      }
    }
    return { heartbeat: Math.ceil(heartbeat) };
  },
});

/** The place of an AMQP 0-9-1 broker, RabbitMQ, and the way to use it. */
export class AmqpConfig extends Base {
  /** @internal The options without defaults. */
  declare readonly given: Partial<SettingsOf<typeof fields>>;
  /** The place of the broker, fit for a log: without user and password. */
  readonly address: string;
  /** @internal The URLs of all nodes. */
  declare readonly urls: readonly string[];

  constructor(...given: ConstructorParameters<typeof Base>) {
    super(...given);
    const { host, pathname } = new URL(this.url);
    this.address = `${[host, ...this.hosts].join(", ")}${pathname === "/" ? "" : pathname}`;
    // They hold the password: not to be listed.
    Object.defineProperty(this, "urls", { value: [this.url, ...this.hosts.map((other) => withHost(this.url, other))] });
    Object.defineProperty(this, "given", { value: AmqpConfig.options.readGiven(given) });
  }

  [inspectSymbol](): string {
    return `AmqpConfig { ${this.address}, prefetchCount: ${this.prefetchCount} }`;
  }
}

/** The same URL at another host. */
function withHost(url: string, host: string): string {
  const other = new URL(url);
  const { hostname, port } = new URL(`amqp://${host}`);
  other.hostname = hostname;
  other.port = port;
  return other.href;
}
