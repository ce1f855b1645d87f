import type { ConfigOf } from "../../../internal/config-of.js";
import { type EitherSpelling, type SnakeCase, snakeCase } from "../../../internal/names.js";
import { inspectSymbol } from "../../../internal/node-modules.js";
import { type Check, type Checks, is, readCall } from "../../../internal/options.js";
import { ValueError } from "../../../internal/value-error.js";

/** Keys in place of those that the AWS SDK finds: environment, files, container and instance roles. */
export type CloudCredentialsOption = CloudCredentials | (() => Promise<CloudCredentials>);

export interface CloudCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface CloudQueueOptions {
  /** The region. Default: the environment's `AWS_REGION`, else `us-east-1`. */
  region?: string;
  /** The URL of a queue. The topic of the queue's name uses it; queues of other topics are found by their name. */
  queueUrl?: string;
  /** The service, in place of that of the region: an emulator or a private endpoint. */
  endpoint?: string;
  /** URLs of queues by topic, where they are not found by name. */
  queues?: Readonly<Record<string, string>>;
  /** True uses FIFO queues: messages of one key keep their order. Default false; topics that end with `.fifo` are. */
  fifo?: boolean;
  /** Creates queues that do not exist when they are first used. Default true. */
  createQueues?: boolean;
  /** Seconds that a message is hidden from other consumers; extended while a handler runs. Default 30. */
  visibilityTimeout?: number;
  /** Seconds that a request for messages waits for them; the end of the application waits as long. Default 5. */
  waitTime?: number;
  /** Messages that a consumer takes over at a time. Default 20. */
  prefetch?: number;
  /** Milliseconds to wait for a connection. Default 5000. */
  connectTimeout?: number;
  /** Keys, or a function of the SDK that provides them. Default: those that the SDK finds. */
  credentials?: CloudCredentialsOption;
}

type Settings = Required<Omit<CloudQueueOptions, "credentials" | "queueUrl" | "endpoint">> & {
  readonly queueUrl: string | null;
  readonly endpoint: string | null;
};

const url: Check = (value) =>
  typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
    ? undefined
    : "a URL: https://...";

const checks: Checks<CloudQueueOptions> = {
  region: is.text,
  queueUrl: url,
  endpoint: url,
  queues: is.object,
  fifo: is.boolean,
  createQueues: is.boolean,
  visibilityTimeout: is.integer(1, 43_200),
  waitTime: is.integer(0, 20),
  prefetch: is.integer(1, 10_000),
  connectTimeout: is.integer(1, 2_147_483_647),
  credentials: is.either(is.function, is.object),
};

/** The place of a cloud queue, Amazon SQS, and the way to use it. */
export class CloudQueueConfig {
  /** Null for those that the SDK finds. */
  readonly credentials: CloudCredentialsOption | null;

  constructor(
    ...given: [regionOrOptions?: string | EitherSpelling<CloudQueueOptions> | null, queueUrl?: string | null]
  ) {
    const { credentials, ...options } = readCall<CloudQueueOptions>(
      "CloudQueueConfig",
      given,
      ["region", "queueUrl"],
      checks,
    );
    const defaults: Settings = {
      region: process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || "us-east-1",
      queueUrl: null,
      endpoint: null,
      queues: {},
      fifo: false,
      createQueues: true,
      visibilityTimeout: 30,
      waitTime: 5,
      prefetch: 20,
      connectTimeout: 5000,
    };
    Object.assign(this, defaults, options);
    for (const [topic, address] of Object.entries(this.queues)) {
      if (url(address) !== undefined) throw new ValueError(`'queues' in CloudQueueConfig: '${topic}' must be a URL`);
    }
    this.credentials = credentials === undefined ? null : readCredentials(credentials);
    Object.defineProperty(this, "credentials", { value: this.credentials, enumerable: false });
  }

  /** Takes a config, its fields, or nothing for the defaults. */
  static from(given?: ConfigOf<"CloudQueueConfig"> | EitherSpelling<CloudQueueOptions> | null): CloudQueueConfig {
    return given instanceof CloudQueueConfig
      ? given
      : new CloudQueueConfig((given ?? {}) as EitherSpelling<CloudQueueOptions>);
  }

  /** The place of the service, fit for a log. */
  get address(): string {
    return this.endpoint ?? `SQS in ${this.region}`;
  }

  [inspectSymbol](): string {
    return `CloudQueueConfig { ${this.address} }`;
  }
}
export interface CloudQueueConfig extends Readonly<Settings>, Readonly<SnakeFields>, ConfigOf<"CloudQueueConfig"> {}

type SnakeFields = { [K in keyof Settings as K extends string ? SnakeCase<K> : never]: Settings[K] };

for (const name of Object.keys(checks) as (keyof Settings)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(CloudQueueConfig.prototype, contract, {
    get(this: CloudQueueConfig) {
      return this[name];
    },
  });
}

function readCredentials(given: CloudCredentialsOption): CloudCredentialsOption {
  if (typeof given === "function") return given;
  const owner = "option 'credentials' of CloudQueueConfig";
  // Only these: the SDK adds members of its own to an object that it was given.
  const { accessKeyId, secretAccessKey, sessionToken } = given;
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey })) {
    if (typeof value !== "string" || value === "") throw new ValueError(`option '${name}' is required in ${owner}`);
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}
