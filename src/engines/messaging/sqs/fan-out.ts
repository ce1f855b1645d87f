import { ValueError } from "../../../kit/value-error.js";
import type { ConsumeRequest } from "../broker.js";
import { MessagingError } from "../errors.js";
import type { SnsCalls, SnsLibrary, SqsClient, SqsSendEntry, SqsSent } from "./library.js";
import { clientOptions, queueName, type SqsService } from "./service.js";

/**
 * SNS in front of SQS. A topic is one of SNS, and each group has a queue that is subscribed to it. Dead letters, and copies of
 * messages for further attempts, are sent to their queues directly: they are for one group.
 */
export class FanOut {
  readonly #library: SnsLibrary;
  readonly #client: SqsClient;
  readonly #service: SqsService;
  readonly #arns = new Map<string, Promise<string>>();

  constructor(library: SnsLibrary, service: SqsService) {
    this.#library = library;
    this.#service = service;
    this.#client = new library.SNSClient(clientOptions(service.config));
  }

  /** True if the records of a topic go through SNS. */
  has(topic: string): boolean {
    return !topic.endsWith(".dead");
  }

  async publish(topic: string, entries: readonly SqsSendEntry[]): Promise<SqsSent> {
    const PublishBatchRequestEntries = entries.map(({ MessageBody: Message, ...entry }) => ({ ...entry, Message }));
    return this.#call("PublishBatch", { TopicArn: await this.#arnOf(topic), PublishBatchRequestEntries });
  }

  /** Subscribes the queue of a group, where that is allowed. Resolves to the name of the queue, as that of a topic. */
  async subscribe({ topic, group, deadLetterTopic }: ConsumeRequest): Promise<string> {
    // A topic of SNS without a subscription would lose them.
    if (deadLetterTopic !== null && this.has(deadLetterTopic))
      throw new ValueError(`with 'fanOut' a topic of dead letters ends with '.dead', unlike '${deadLetterTopic}'`);
    if (!this.has(topic)) return topic;
    const isFifo = topic.endsWith(".fifo");
    const queue = isFifo ? `${topic.slice(0, -".fifo".length)}.${group}.fifo` : `${topic}.${group}`;
    const QueueUrl = await this.#service.urlOf(queue);
    if (!this.#service.config.createQueues) return queue;
    const TopicArn = await this.#arnOf(topic);
    const { Attributes = {} } = await this.#service.call("GetQueueAttributes", {
      QueueUrl,
      AttributeNames: ["QueueArn", "Policy"],
    });
    const { QueueArn = "", Policy } = Attributes;
    // An existing policy was set by another program or a person.
    if (!Policy)
      await this.#service.call("SetQueueAttributes", {
        QueueUrl,
        Attributes: { Policy: policy(QueueArn, TopicArn) },
      });
    // The same subscription again changes nothing.
    await this.#call("Subscribe", {
      TopicArn,
      Protocol: "sqs",
      Endpoint: QueueArn,
      Attributes: { RawMessageDelivery: "true" },
    });
    return queue;
  }

  close(): void {
    this.#client.destroy();
  }

  async #call<Name extends keyof SnsCalls>(
    name: Name,
    input: SnsCalls[Name]["input"],
  ): Promise<SnsCalls[Name]["output"]> {
    try {
      return await this.#client.send(new this.#library.commands[name](input));
    } catch (error) {
      if ((error as Error | null)?.name !== "NotFoundException") throw this.#service.translate(error);
      // The topic was deleted: it is looked for, or created, before its next use.
      this.#arns.clear();
      const text = `the cloud queue at ${this.#service.config.address} does not know the SNS topic`;
      throw new MessagingError("UNKNOWN_TOPIC", text, { cause: error });
    }
  }

  #arnOf(topic: string): Promise<string> {
    let found = this.#arns.get(topic);
    if (found === undefined) {
      found = this.#find(topic);
      if (this.#arns.size > 10_000) this.#arns.clear();
      this.#arns.set(topic, found);
      // A topic that is missing now may be there later.
      found.catch(() => this.#arns.delete(topic));
    }
    return found;
  }

  async #find(topic: string): Promise<string> {
    const { createQueues, address } = this.#service.config;
    const isFifo = this.#service.isFifo(topic);
    const Name = queueName(topic, isFifo);
    // It gives the topic of that name, if there is one.
    if (createQueues)
      return (await this.#call("CreateTopic", { Name, Attributes: isFifo ? { FifoTopic: "true" } : {} })).TopicArn;
    let NextToken: string | undefined;
    do {
      const page: SnsCalls["ListTopics"]["output"] = await this.#call("ListTopics", { NextToken });
      const found = page.Topics?.find(({ TopicArn }) => TopicArn.endsWith(`:${Name}`));
      if (found !== undefined) return found.TopicArn;
      NextToken = page.NextToken;
    } while (NextToken);
    const text = `the cloud queue at ${address} does not know the SNS topic '${Name}', and 'createQueues' is false`;
    throw new MessagingError("UNKNOWN_TOPIC", text);
  }
}

/** Lets a topic send to a queue. */
function policy(queueArn: string, topicArn: string): string {
  const statement = {
    Effect: "Allow",
    Principal: { Service: "sns.amazonaws.com" },
    Action: "sqs:SendMessage",
    Resource: queueArn,
    Condition: { ArnEquals: { "aws:SourceArn": topicArn } },
  };
  return JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
}
