import { milliseconds } from "../../../kit/time/duration.js";
import { MessagingError } from "../errors.js";
import type { CloudQueueConfig } from "./config.js";
import type { SqsCalls, SqsClient, SqsLibrary } from "./library.js";

const unknownQueue = /NonExistentQueue|QueueDoesNotExist/;

/** Seconds that a response may take beside the time that the request waits for messages. */
const spareTime = 5;

/** The service: calls, the URLs of queues, and its errors in our words. */
export class SqsService {
  readonly config: CloudQueueConfig;
  readonly #library: SqsLibrary;
  readonly #client: SqsClient;
  readonly #urls = new Map<string, Promise<string>>();

  constructor(library: SqsLibrary, config: CloudQueueConfig) {
    this.config = config;
    this.#library = library;
    this.#client = new library.SQSClient(clientOptions(config));
  }

  async call<Name extends keyof SqsCalls>(
    name: Name,
    input: SqsCalls[Name]["input"],
    abortSignal?: AbortSignal,
  ): Promise<SqsCalls[Name]["output"]> {
    const command = new this.#library.commands[name](input);
    try {
      return await this.#client.send(command, abortSignal && { abortSignal });
    } catch (error) {
      const failure = this.translate(error);
      // The queue was deleted. It may be created again, with another URL.
      if (failure.code === "UNKNOWN_TOPIC" && name !== "GetQueueUrl") this.#urls.clear();
      throw failure;
    }
  }

  /** True if the queue of a topic keeps the order of each key. Dead letters are never looked at in order. */
  isFifo(topic: string): boolean {
    return !topic.endsWith(".dead") && (this.config.fifo || topic.endsWith(".fifo"));
  }

  /** The URL of the queue of a topic; it is created where that is allowed. */
  urlOf(topic: string): Promise<string> {
    let found = this.#urls.get(topic);
    if (found === undefined) {
      found = this.#find(topic);
      if (this.#urls.size > 10_000) this.#urls.clear();
      this.#urls.set(topic, found);
      // A queue that is missing now may be there later.
      found.catch(() => this.#urls.delete(topic));
    }
    return found;
  }

  translate(error: unknown): MessagingError {
    if (error instanceof MessagingError) return error;
    const { name = "", message = String(error) } = error as { name?: string; message?: string };
    const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: string };
    const at = `the cloud queue at ${this.config.address}`;
    if (unknownQueue.test(`${name} ${message}`)) {
      return new MessagingError("UNKNOWN_TOPIC", `${at} does not know the queue`, { cause: error });
    }
    const status = $metadata?.httpStatusCode ?? 0;
    const passing =
      /Throttl|RequestTimeout|ServiceUnavailable|InternalError/.test(name) || status >= 500 || status === 429;
    const text = textOf(error, message === "" || message === "UnknownError" ? (code ?? name) : message);
    if (status >= 400 && !passing) return new MessagingError("REFUSED", `${at} refused: ${text}`, { cause: error });
    if (name === "CredentialsProviderError") return new MessagingError("REFUSED", `${at}: ${text}`, { cause: error });
    const reason = causeOf(error) ?? text;
    return new MessagingError("UNREACHABLE", `${at} is unreachable: ${reason}`, { cause: error });
  }

  close(): void {
    this.#client.destroy();
  }

  async #find(topic: string): Promise<string> {
    const { queues, queueUrl, createQueues, visibilityTimeout } = this.config;
    const given = queues[topic];
    if (given !== undefined) return given;
    const fifo = this.isFifo(topic);
    const name = queueName(topic, fifo);
    if (queueUrl?.endsWith(`/${name}`)) return queueUrl;
    try {
      return (await this.call("GetQueueUrl", { QueueName: name })).QueueUrl;
    } catch (error) {
      const failure = this.translate(error);
      if (failure.code !== "UNKNOWN_TOPIC") throw failure;
    }
    const unknown = `the cloud queue at ${this.config.address} does not know the queue '${name}'`;
    if (!createQueues) throw new MessagingError("UNKNOWN_TOPIC", `${unknown}, and 'createQueues' is false`);
    // A program that names its queue does not expect others. That of its dead letters belongs to it.
    if (queueUrl !== null && name !== queueName(`${queueUrl.split("/").at(-1)}.dead`, false)) {
      const text = `${unknown} of the topic '${topic}', and 'queueUrl' is another queue: name it in 'queues'`;
      throw new MessagingError("UNKNOWN_TOPIC", text);
    }
    const attributes = {
      VisibilityTimeout: String(visibilityTimeout),
      // Fourteen days, the longest.
      MessageRetentionPeriod: "1209600",
      ...(fifo && { FifoQueue: "true" }),
    };
    return (await this.call("CreateQueue", { QueueName: name, Attributes: attributes })).QueueUrl;
  }
}

/** The options of the clients of the SDK. */
export function clientOptions({ region, endpoint, credentials, connectTimeout, waitTime }: CloudQueueConfig): object {
  const responseTime = (waitTime + spareTime) * 1000;
  return {
    region,
    maxAttempts: 3,
    // The URLs that an emulator gives its queues can name a host or port that is reachable for the emulator alone.
    ...(endpoint !== null && { endpoint, useQueueUrlAsEndpoint: false }),
    ...(credentials !== null && { credentials }),
    requestHandler: {
      connectionTimeout: milliseconds(connectTimeout),
      requestTimeout: responseTime,
      // Without it a request that is too late is logged only.
      throwOnRequestTimeout: true,
      // For a response that begins and does not end.
      socketTimeout: responseTime,
    },
  };
}

/** Queues have no dots in their names, but for the end of the name of a FIFO queue. */
export function queueName(topic: string, fifo: boolean): string {
  const name = topic.replace(/\.fifo$/, "").replaceAll(".", "-");
  const whole = fifo ? `${name}.fifo` : name;
  if (whole.length <= 80) return whole;
  throw new MessagingError("UNKNOWN_TOPIC", `the name of a queue has at most 80 characters: '${whole}'`);
}

/** The text of an error. That of a response which is no JSON quotes the response. */
function textOf(error: unknown, text: string): string {
  return error instanceof SyntaxError ? "the response is not one of SQS" : text;
}

function causeOf(error: unknown): string | null {
  const inner: unknown =
    error instanceof AggregateError ? error.errors[0] : (error as { cause?: unknown } | null)?.cause;
  return inner instanceof Error && inner.message !== "" ? inner.message : null;
}
