import type { ConfigOf } from "../../../internal/config-of.js";
import { type EitherSpelling, type SnakeCase, snakeCase } from "../../../internal/names.js";
import { inspectSymbol } from "../../../internal/node-modules.js";
import { type Check, type Checks, is, readCall, readOptions } from "../../../internal/options.js";
import { ValueError } from "../../../internal/value-error.js";

/** Routing of one topic, where every group is not to get every message. */
export interface AmqpTopicOptions {
  /** The exchange. Default: the name of the topic. */
  readonly exchange?: string;
  /** The kind of the exchange. Default "fanout": every group gets every message. The routing key is the message's key. */
  readonly type?: "fanout" | "direct" | "topic" | "headers";
  /** For each group the routing keys of its queue, or for an exchange of headers the header values to match. */
  readonly bindings?: Readonly<Record<string, readonly string[] | Readonly<Record<string, string>>>>;
}

/** TLS of the connection. Certificates and keys are PEM texts, not paths. */
export interface AmqpTlsOptions {
  /** Certificates of authorities to trust, in place of those of Node. */
  readonly ca?: string | Uint8Array;
  /** A client certificate. */
  readonly cert?: string | Uint8Array;
  /** The key of `cert`. */
  readonly key?: string | Uint8Array;
  /** False accepts any certificate: for tests only. Default true. */
  readonly rejectUnauthorized?: boolean;
}

export interface AmqpOptions {
  /** `amqp://user:password@host:5672/vhost`; with TLS `amqps://`. Default `amqp://guest:guest@127.0.0.1:5672`. */
  url?: string;
  /** Messages that the broker hands over to a consumer at a time. Default 20. */
  prefetchCount?: number;
  /** The group of consumers that name none. Default "stoa". */
  groupId?: string;
  /** The kind of the queues. Default "quorum". */
  queueType?: "quorum" | "classic";
  /** Deliveries without a result after which the broker itself makes a dead letter; quorum queues only. Default 50. */
  deliveryLimit?: number;
  /** True rejects a publish that no queue would receive. Default true. */
  mandatory?: boolean;
  /** Routing of topics by their name. */
  topics?: Readonly<Record<string, AmqpTopicOptions>>;
  /** Seconds between signs of life on the connection. Default 10. */
  heartbeat?: number;
  /** Milliseconds to wait for a connection. Default 5000. */
  connectTimeout?: number;
  /** TLS of the connection, for `amqps://`. */
  tls?: EitherSpelling<AmqpTlsOptions>;
}

type Settings = Required<Omit<AmqpOptions, "tls">>;

const checks: Checks<AmqpOptions> = {
  // Checked separately: the message of a failed check shows the value, and this one may hold a password.
  url: is.anything,
  prefetchCount: is.integer(1, 65_535),
  groupId: is.text,
  queueType: is.oneOf("quorum", "classic"),
  deliveryLimit: is.integer(1, 100_000),
  mandatory: is.boolean,
  topics: is.object,
  heartbeat: is.integer(1, 3600),
  connectTimeout: is.integer(1, 2_147_483_647),
  tls: is.object,
};

const topicChecks: Checks<AmqpTopicOptions> = {
  exchange: is.text,
  type: is.oneOf("fanout", "direct", "topic", "headers"),
  bindings: is.object,
};

const pem: Check = is.either(is.text, (value) => (value instanceof Uint8Array ? undefined : "bytes"));
const tlsChecks: Checks<AmqpTlsOptions> = {
  ca: pem,
  cert: pem,
  key: (value) => (pem(value) === undefined ? undefined : "a non-empty string, or bytes"),
  rejectUnauthorized: is.boolean,
};

const defaults: Settings = {
  url: "amqp://guest:guest@127.0.0.1:5672",
  prefetchCount: 20,
  groupId: "stoa",
  queueType: "quorum",
  deliveryLimit: 50,
  mandatory: true,
  topics: {},
  heartbeat: 10,
  connectTimeout: 5000,
};

/** The place of an AMQP 0-9-1 broker, RabbitMQ, and the way to use it. */
export class AmqpConfig {
  readonly tls: AmqpTlsOptions;
  /** The place of the broker, fit for a log: without user and password. */
  readonly address: string;

  constructor(...given: [urlOrOptions?: string | EitherSpelling<AmqpOptions> | null, prefetchCount?: number | null]) {
    const { tls, ...options } = readCall<AmqpOptions>("AmqpConfig", given, ["url", "prefetchCount"], checks);
    Object.assign(this, defaults, options);
    const url = parseUrl(this.url);
    this.address = `${url.host}${url.pathname === "/" ? "" : url.pathname}`;
    this.tls = readOptions<AmqpTlsOptions>("option 'tls' of AmqpConfig", tls, tlsChecks);
    for (const [name, topic] of Object.entries(this.topics)) {
      readOptions<AmqpTopicOptions>(`the topic '${name}' of AmqpConfig`, topic, topicChecks);
    }
    for (const secret of ["url", "tls"] as const) {
      Object.defineProperty(this, secret, { value: this[secret], enumerable: false });
    }
  }

  /** Takes a config, its fields, a URL, or nothing for the defaults. */
  static from(given?: ConfigOf<"AmqpConfig"> | EitherSpelling<AmqpOptions> | string | null): AmqpConfig {
    if (given instanceof AmqpConfig) return given;
    return typeof given === "string"
      ? new AmqpConfig(given)
      : new AmqpConfig((given ?? {}) as EitherSpelling<AmqpOptions>);
  }

  [inspectSymbol](): string {
    return `AmqpConfig { ${this.address}, prefetchCount: ${this.prefetchCount} }`;
  }
}
export interface AmqpConfig extends Readonly<Settings>, Readonly<SnakeFields>, ConfigOf<"AmqpConfig"> {}

type SnakeFields = { [K in keyof Settings as K extends string ? SnakeCase<K> : never]: Settings[K] };

for (const name of Object.keys(checks) as (keyof Settings)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(AmqpConfig.prototype, contract, {
    get(this: AmqpConfig) {
      return this[name];
    },
  });
}

function parseUrl(given: unknown): URL {
  if (typeof given === "string" && /^amqps?:\/\//.test(given)) {
    try {
      return new URL(given);
    } catch {
      // Refused below.
    }
  }
  throw new ValueError("option 'url' in AmqpConfig must be a URL: amqp://user:password@host:5672/vhost");
}
