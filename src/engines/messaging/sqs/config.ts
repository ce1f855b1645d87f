import { config, type OptionsOf, option, type SettingsOf } from "../../../kit/config.js";
import { inspectSymbol } from "../../../kit/node-modules.js";
import { type Check, is } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";

/** Keys in place of those that the AWS SDK finds: environment, files, container and instance roles. */
export type CloudCredentialsOption = CloudCredentials | (() => Promise<CloudCredentials>);

export interface CloudCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const isUrl: Check<string> = (value) =>
  typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
    ? undefined
    : "a URL: https://...";

const fields = {
  /** The region. Default: `AWS_REGION`, else `us-east-1`. */
  region: option(is.text, "us-east-1", "`AWS_REGION`, else `us-east-1`"),
  /** The URL of a queue. The topic of the queue's name uses it; queues of other topics are found by their name. */
  queueUrl: option.made<string, string | null>(isUrl, String, null),
  /** The service, in place of that of the region: an emulator or a private endpoint. */
  endpoint: option.made<string, string | null>(isUrl, String, null),
  /** URLs of queues by topic, where they are not found by name. */
  queues: option<Readonly<Record<string, string>>>(is.object, {}),
  /** True uses FIFO queues: messages of one key keep their order. Topics that end with `.fifo` have one in any case. Default false. */
  fifo: option(is.boolean, false),
  /**
   * Publishes to SNS, whose topics give a copy of each message to every group: each group has a queue, `<topic>.<group>`. The
   * package `@aws-sdk/client-sns` is needed. Default false.
   */
  fanOut: option(is.boolean, false),
  /** Creates queues that do not exist when they are first used, and with `fanOut` SNS topics and subscriptions. Default true. */
  createQueues: option(is.boolean, true),
  /** Time that a message is hidden from other consumers, in whole seconds; extended while a handler runs. Default 30 seconds. */
  visibilityTimeout: option.duration("30s", "1s", "12h"),
  /** Time that a request for messages waits for them, in whole seconds; the end of the application waits as long. Default 5 seconds. */
  waitTime: option.duration("5s", 0, "20s"),
  /** Messages that a consumer takes over at a time. Default 20. */
  prefetch: option(is.integer(1, 10_000), 20),
  /** Time to wait for a connection. Default 5 seconds. */
  connectTimeout: option.duration("5s", "1ms", "24d"),
  /** Keys, or a function of the SDK that provides them. Default: those that the SDK finds. */
  credentials: option.secret<CloudCredentialsOption, CloudCredentialsOption | null>(
    is.either(is.function, is.object),
    readCredentials,
    null,
  ),
};

export interface CloudQueueOptions extends OptionsOf<typeof fields> {}

const Base = config("CloudQueueConfig", fields, {
  order: ["region", "queueUrl"],
  refine({ queues, queueUrl, fanOut, visibilityTimeout, waitTime }, given) {
    if (fanOut && queueUrl !== null)
      throw new ValueError(
        "'fanOut' in CloudQueueConfig goes with 'queues', not with 'queueUrl': each group has a queue",
      );
    for (const [topic, address] of Object.entries(queues)) {
      if (isUrl(address) !== undefined) throw new ValueError(`'queues' in CloudQueueConfig: '${topic}' must be a URL`);
    }
    const region = given.region ?? (process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || fields.region.fallback);
    // The service takes whole seconds.
    return { region, visibilityTimeout: Math.ceil(visibilityTimeout), waitTime: Math.ceil(waitTime) };
  },
});

/** The place of a cloud queue, Amazon SQS, and the way to use it. */
export class CloudQueueConfig extends Base {
  /** @internal The options without defaults. */
  declare readonly given: Partial<SettingsOf<typeof fields>>;

  constructor(...given: ConstructorParameters<typeof Base>) {
    super(...given);
    Object.defineProperty(this, "given", { value: CloudQueueConfig.options.readGiven(given) });
  }

  /** The place of the service, fit for a log. */
  get address(): string {
    return this.endpoint ?? `SQS in ${this.region}`;
  }

  [inspectSymbol](): string {
    return `CloudQueueConfig { ${this.address} }`;
  }
}

function readCredentials(given: CloudCredentialsOption): CloudCredentialsOption {
  if (typeof given === "function") return given;
  const owner = "option 'credentials' of CloudQueueConfig";
  // Only these: the SDK adds its own members to an object that it was given.
  const { accessKeyId, secretAccessKey, sessionToken } = given;
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey })) {
    if (typeof value !== "string" || value === "") throw new ValueError(`option '${name}' is required in ${owner}`);
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}
