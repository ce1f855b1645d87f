import type { ConfigOf } from "../../../internal/config-of.js";
import { type EitherSpelling, type SnakeCase, snakeCase } from "../../../internal/names.js";
import { inspectSymbol } from "../../../internal/node-modules.js";
import { type Check, type Checks, is, readCall, readOptions, required } from "../../../internal/options.js";
import { ValueError } from "../../../internal/value-error.js";

/** The login to the brokers. */
export interface KafkaSaslOptions {
  /** The way of authentication. PLAIN sends the password itself: use it with TLS only. */
  readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
  /** The name of the user. */
  readonly username: string;
  /** The password of the user. */
  readonly password: string;
}

/** TLS of the connections. Certificates and keys are PEM texts, not paths. */
export interface KafkaTlsOptions {
  /** Certificates of authorities to trust, in place of those of Node. */
  readonly ca?: string | Uint8Array;
  /** A client certificate. */
  readonly cert?: string | Uint8Array;
  /** The key of `cert`. */
  readonly key?: string | Uint8Array;
  /** False accepts any certificate: for tests only. Default true. */
  readonly rejectUnauthorized?: boolean;
}

export interface LogBrokerOptions {
  /** Brokers to begin with: `["10.0.0.1:9092"]`. Default `["127.0.0.1:9092"]`. */
  brokers?: readonly string[];
  /** The group of consumers that name none. Default "stoa". */
  groupId?: string;
  /** The name of this program at the brokers. Default "stoa". */
  clientId?: string;
  /** Compression of published batches. Default "none". */
  compression?: "none" | "gzip" | "snappy" | "lz4";
  /** True has the broker drop a batch that it gets twice because its confirmation was lost. Default true. */
  idempotent?: boolean;
  /** Creates topics that do not exist when they are first used. Default true. */
  createTopics?: boolean;
  /** Partitions of a topic that is created. Default 3. */
  partitions?: number;
  /** Replicas of a topic that is created; -1 for the default of the broker. Default -1. */
  replicas?: number;
  /** Messages that a consumer takes over at a time. Default 100. */
  prefetch?: number;
  /** The largest message in bytes. Default 1000000, below the limit that brokers have by default. */
  maxBytes?: number;
  /** Milliseconds after which a consumer that gives no sign of life loses its partitions. Default 30000. */
  sessionTimeout?: number;
  /** Milliseconds to wait for a connection. Default 5000. */
  connectTimeout?: number;
  /** Milliseconds after which the broker aborts a transaction that is not ended. Default 15000. */
  transactionTimeout?: number;
  /** The login to the brokers. Default none. */
  sasl?: EitherSpelling<KafkaSaslOptions>;
  /** TLS, or true for TLS with Node's own authorities. */
  tls?: EitherSpelling<KafkaTlsOptions> | boolean;
}

type Settings = Required<Omit<LogBrokerOptions, "sasl" | "tls">>;

const address: Check = (value) =>
  typeof value === "string" && readAddress(value) ? undefined : "an address: host:port";

const checks: Checks<LogBrokerOptions> = {
  brokers: is.list(address),
  groupId: is.text,
  clientId: is.text,
  compression: is.oneOf("none", "gzip", "snappy", "lz4"),
  idempotent: is.boolean,
  createTopics: is.boolean,
  partitions: is.integer(1, 10_000),
  replicas: is.either(is.oneOf(-1), is.integer(1, 100)),
  prefetch: is.integer(1, 100_000),
  maxBytes: is.integer(1, 1_000_000_000),
  sessionTimeout: is.integer(6000, 1_800_000),
  connectTimeout: is.integer(1, 2_147_483_647),
  transactionTimeout: is.integer(1000, 900_000),
  sasl: is.object,
  tls: is.either(is.boolean, is.object),
};

const pem: Check = is.either(is.text, (value) => (value instanceof Uint8Array ? undefined : "bytes"));
const secret: Check = (value) => (is.text(value) === undefined ? undefined : "a non-empty string");
const tlsChecks: Checks<KafkaTlsOptions> = {
  ca: pem,
  cert: pem,
  key: (value) => (pem(value) === undefined ? undefined : "a non-empty string, or bytes"),
  rejectUnauthorized: is.boolean,
};

const defaults: Settings = {
  brokers: ["127.0.0.1:9092"],
  groupId: "stoa",
  clientId: "stoa",
  compression: "none",
  idempotent: true,
  createTopics: true,
  partitions: 3,
  replicas: -1,
  prefetch: 100,
  maxBytes: 1_000_000,
  sessionTimeout: 30_000,
  connectTimeout: 5000,
  transactionTimeout: 15_000,
};

/** The place of a log broker, Kafka, and the way to use it. */
export class LogBrokerConfig {
  /** Null without a login. */
  readonly sasl: KafkaSaslOptions | null;
  /** Null without TLS. */
  readonly tls: KafkaTlsOptions | null;

  constructor(
    ...given: [brokersOrOptions?: readonly string[] | EitherSpelling<LogBrokerOptions> | null, groupId?: string | null]
  ) {
    const { sasl, tls, ...options } = readCall<LogBrokerOptions>(
      "LogBrokerConfig",
      given,
      ["brokers", "groupId"],
      checks,
    );
    Object.assign(this, defaults, options);
    if (this.brokers.length === 0) throw new ValueError("option 'brokers' in LogBrokerConfig must name a broker");
    this.sasl = sasl === undefined ? null : readSasl(sasl);
    this.tls = tls === undefined || tls === false ? null : readTls(tls);
    for (const hidden of ["sasl", "tls"] as const) {
      Object.defineProperty(this, hidden, { value: this[hidden], enumerable: false });
    }
  }

  /** Takes a config, its fields, or nothing for the defaults. */
  static from(given?: ConfigOf<"LogBrokerConfig"> | EitherSpelling<LogBrokerOptions> | null): LogBrokerConfig {
    return given instanceof LogBrokerConfig
      ? given
      : new LogBrokerConfig((given ?? {}) as EitherSpelling<LogBrokerOptions>);
  }

  /** The place of the brokers, fit for a log. */
  get address(): string {
    return this.brokers.join(", ");
  }

  [inspectSymbol](): string {
    return `LogBrokerConfig { ${this.address}, groupId: ${this.groupId} }`;
  }
}
export interface LogBrokerConfig extends Readonly<Settings>, Readonly<SnakeFields>, ConfigOf<"LogBrokerConfig"> {}

type SnakeFields = { [K in keyof Settings as K extends string ? SnakeCase<K> : never]: Settings[K] };

for (const name of Object.keys(checks) as (keyof Settings)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(LogBrokerConfig.prototype, contract, {
    get(this: LogBrokerConfig) {
      return this[name];
    },
  });
}

function readSasl(given: unknown): KafkaSaslOptions {
  const owner = "option 'sasl' of LogBrokerConfig";
  const password = (given as { password?: unknown }).password;
  // Checked apart: the message of a failed check would show it.
  if (secret(password) !== undefined) throw new ValueError(`${owner} needs a password`);
  const options = readOptions<KafkaSaslOptions>(owner, given, {
    mechanism: is.oneOf("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    username: is.text,
    password: is.anything,
  });
  return {
    mechanism: required(owner, options, "mechanism"),
    username: required(owner, options, "username"),
    password: password as string,
  };
}

function readTls(given: unknown): KafkaTlsOptions {
  return given === true ? {} : readOptions<KafkaTlsOptions>("option 'tls' of LogBrokerConfig", given, tlsChecks);
}

const addressPattern = /^(?:\[[\da-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i;

function readAddress(text: string): boolean {
  const port = Number(addressPattern.exec(text)?.[1] ?? 0);
  return port >= 1 && port <= 65_535;
}
