import { config, type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { inspectSymbol } from "../../../kit/node-modules.js";
import { type Check, is } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import { tlsFields } from "../../tls-options.js";

const saslOptions = options("option 'sasl' of LogBrokerConfig", {
  /** The way of authentication. PLAIN sends the password itself: use it with TLS only. */
  mechanism: option.required(is.oneOf("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")),
  /** The name of the user; not for OAUTHBEARER. */
  username: option(is.text),
  /** The password of the user; not for OAUTHBEARER. */
  password: option.secret(is.text),
  /** The token of OAUTHBEARER, or a function that gives one: it is called for each login. Use it with TLS only. */
  token: option.secret<Token>(is.either<[string, TokenSource]>(is.text, is.function)),
});

type TokenSource = () => string | Promise<string>;
type Token = string | TokenSource;

const tlsOptions = options("option 'tls' of LogBrokerConfig", tlsFields);

/** The login to the brokers. */
export interface KafkaSaslOptions extends OptionsOf<typeof saslOptions.fields> {}

/** TLS of the connections. Certificates and keys are PEM texts, not paths. */
export interface KafkaTlsOptions extends OptionsOf<typeof tlsFields> {}

const addressPattern = /^(?:\[[\da-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i;

const isAddress: Check<string> = (value) => {
  const port = typeof value === "string" ? Number(addressPattern.exec(value)?.[1] ?? 0) : 0;
  return port >= 1 && port <= 65_535 ? undefined : "an address: host:port";
};

const isInstance: Check<string> = (value) =>
  typeof value === "string" && /^[\w.-]{1,100}$/.test(value) ? undefined : "1 to 100 letters, digits, '.', '_' and '-'";

const fields = {
  /** Brokers to begin with: `["10.0.0.1:9092"]`. Default `["127.0.0.1:9092"]`. */
  brokers: option(is.list(isAddress), ["127.0.0.1:9092"]),
  /** The group of consumers that name none. Default: the application's name, else `stoa`. */
  groupId: option(is.text, "stoa", "the application's name, else `stoa`"),
  /**
   * The name of this process in its groups. No other process has it, and it stays the same after a restart: the process then
   * gets its partitions back without a rebalance of the group. Default none.
   */
  groupInstanceId: option(isInstance),
  /** The name of this program at the brokers. Default "stoa". */
  clientId: option(is.text, "stoa"),
  /** Compression of published batches. Default "none". */
  compression: option(is.oneOf("none", "gzip", "snappy", "lz4"), "none"),
  /** True has the broker drop a batch that it gets twice because its confirmation was lost. Default true. */
  idempotent: option(is.boolean, true),
  /** Creates topics that do not exist when they are first used. Default true. */
  createTopics: option(is.boolean, true),
  /** Partitions of a topic that is created. Default 3. */
  partitions: option(is.integer(1, 10_000), 3),
  /** Replicas of a topic that is created; -1 for the default of the broker. Default -1. */
  replicas: option(is.either(is.oneOf(-1), is.integer(1, 100)), -1),
  /** Messages that a consumer takes over at a time. Default 100. */
  prefetch: option(is.integer(1, 100_000), 100),
  /** The largest message in bytes. Default 1000000, below the limit that brokers have by default. */
  maxBytes: option(is.integer(1, 1_000_000_000), 1000000),
  /** The most bytes of a compressed batch when it is unpacked. A larger one is a dead letter. Default 67108864. */
  maxBatchBytes: option(is.integer(1024, 1_000_000_000), 67108864),
  /** Time after which a consumer that gives no sign of life loses its partitions. Default 30 seconds. */
  sessionTimeout: option.duration("30s", "6s", "30m"),
  /** Time between two looks for new topics, for consumers by pattern. Default 30 seconds. */
  patternInterval: option.duration("30s", "100ms", "1d"),
  /** Time to wait for a connection. Default 5 seconds. */
  connectTimeout: option.duration("5s", "1ms", "24d"),
  /** Time after which the broker aborts a transaction that is not ended. Default 15 seconds. */
  transactionTimeout: option.duration("15s", "1s", "15m"),
  /** The login to the brokers. Default none. */
  sasl: option.secret<EitherSpelling<KafkaSaslOptions>, KafkaSaslOptions | null>(is.object, readSasl, null),
  /** TLS, or true for TLS with Node's own authorities. Default none. */
  tls: option.secret(is.either<[boolean, EitherSpelling<KafkaTlsOptions>]>(is.boolean, is.object), readTls, null),
};

export interface LogBrokerOptions extends OptionsOf<typeof fields> {}

const Base = config("LogBrokerConfig", fields, {
  order: ["brokers", "groupId"],
  refine({ brokers }) {
    if (brokers.length === 0) throw new ValueError("option 'brokers' in LogBrokerConfig must name a broker");
  },
});

/** The place of a log broker, Kafka, and the way to use it. */
export class LogBrokerConfig extends Base {
  /** @internal The options without defaults. */
  declare readonly given: Partial<SettingsOf<typeof fields>>;

  constructor(...given: ConstructorParameters<typeof Base>) {
    super(...given);
    Object.defineProperty(this, "given", { value: LogBrokerConfig.options.readGiven(given) });
  }

  /** The place of the brokers, fit for a log. */
  get address(): string {
    return this.brokers.join(", ");
  }

  [inspectSymbol](): string {
    return `LogBrokerConfig { ${this.address}, groupId: ${this.groupId} }`;
  }
}

function readSasl(given: EitherSpelling<KafkaSaslOptions>): KafkaSaslOptions {
  const sasl = saslOptions.readGiven([given]) as KafkaSaslOptions;
  const needed = sasl.mechanism === "OAUTHBEARER" ? (["token"] as const) : (["username", "password"] as const);
  for (const name of needed)
    if (sasl[name] === undefined) throw new ValueError(`${saslOptions.owner} needs a ${name} for ${sasl.mechanism}`);
  const other = (["username", "password", "token"] as const).find(
    (name) => sasl[name] !== undefined && !(needed as readonly string[]).includes(name),
  );
  if (other !== undefined)
    throw new ValueError(`option '${other}' in ${saslOptions.owner} does not go with ${sasl.mechanism}`);
  return sasl;
}

function readTls(given: boolean | EitherSpelling<KafkaTlsOptions>): KafkaTlsOptions | null {
  if (typeof given === "boolean") return given ? {} : null;
  return tlsOptions.readGiven([given]);
}
