import { randomUUID } from "node:crypto";
import type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  BrowseVisitor,
  ConsumeRequest,
  DeliverySink,
  OutgoingRecord,
} from "../broker.js";
import { asMessagingError, MessagingError } from "../errors.js";
import { groupBy } from "../group-by.js";
import { Turns } from "../suspects.js";
import { CloudQueueConfig, type CloudQueueOptions } from "./config.js";
import { FanOut } from "./fan-out.js";
import { loadSns, loadSqs, type SnsLibrary, type SqsLibrary, type SqsMessage, type SqsSendEntry } from "./library.js";
import { copyOf, entryOf, entrySize, groupOf, largestMessage, largestNotice, recordOf } from "./records.js";
import { SqsService } from "./service.js";
import { type SendCopy, SqsConsumer } from "./sqs-consumer.js";

const batch = 10;
/** Milliseconds of the longest delay of SQS. */
const longestDelay = 900_000;

type Prepared = { readonly record: OutgoingRecord; readonly entry: SqsSendEntry };

/** Amazon SQS. A topic is a queue, and its consumers are one group; with fan-out, each group of a topic has a queue. */
export class SqsBroker implements Broker {
  readonly name = "sqs";
  readonly abilities: BrokerAbilities;
  readonly defaultGroup: string;
  readonly defaultPrefetch: number;
  readonly boundsPrefetch: boolean;
  readonly #service: SqsService;
  readonly #fanOut: FanOut | null;
  readonly #turns = new Turns();
  readonly #config: CloudQueueConfig;
  /** One for each record, however often it is sent: FIFO queues drop what they get twice. */
  readonly #deduplicate = new WeakMap<object, string>();

  /** @internal */
  constructor(library: SqsLibrary, config: CloudQueueConfig, sns: SnsLibrary | null = null, application = "stoa") {
    this.#config = config;
    this.#service = new SqsService(library, config);
    this.#fanOut = sns && new FanOut(sns, this.#service);
    this.defaultGroup = sns === null ? "stoa" : application;
    this.defaultPrefetch = config.prefetch;
    this.boundsPrefetch = config.given.prefetch !== undefined;
    // FIFO queues delay all messages or none, and SNS delays none.
    const maxDelayMs = config.fifo || sns !== null ? 0 : longestDelay;
    const maxBytes = (sns === null ? largestMessage : largestNotice) - 1000;
    this.abilities = { maxDelayMs, broadcast: false, seek: false, maxBytes };
  }

  async open(): Promise<void> {
    await this.ping();
  }

  async ping(): Promise<void> {
    const { queueUrl } = this.#config;
    if (queueUrl === null) await this.#service.call("ListQueues", { MaxResults: 1 });
    else await this.#service.call("GetQueueAttributes", { QueueUrl: queueUrl, AttributeNames: ["QueueArn"] });
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const outcomes = new Map<OutgoingRecord, MessagingError | null>();
    const topics = groupBy(records, ({ topic }) => topic);
    await Promise.all([...topics].map(([topic, list]) => this.#publishTo(topic, list, outcomes)));
    return records.map((record) => outcomes.get(record) ?? null);
  }

  async consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    if (this.#fanOut === null && request.group !== this.defaultGroup) {
      const cure = "each group needs its own queue: set the option 'fanOut'";
      throw new MessagingError("UNSUPPORTED", `the sqs broker has no groups: ${cure}`);
    }
    const topic = (await this.#fanOut?.subscribe(request)) ?? request.topic;
    const consumer = new SqsConsumer(this.#service, { ...request, topic }, sink, this.#sendCopy, this.#turns);
    await consumer.open();
    return consumer;
  }

  async browse(topic: string, limit: number, visit: BrowseVisitor): Promise<void> {
    const QueueUrl = await this.#service.urlOf(topic);
    const kept: SqsMessage[] = [];
    try {
      // A short request asks only some of the servers: twice nothing is the end.
      for (let seen = 0, empty = 0; seen < limit && empty < 2; ) {
        const { Messages = [] } = await this.#service.call("ReceiveMessage", {
          QueueUrl,
          MaxNumberOfMessages: Math.min(batch, limit - seen),
          WaitTimeSeconds: 0,
          VisibilityTimeout: 60,
          MessageAttributeNames: ["All"],
          MessageSystemAttributeNames: ["All"],
        });
        empty = Messages.length === 0 ? empty + 1 : 0;
        seen += Messages.length;
        kept.push(...Messages);
        for (const message of Messages) {
          if ((await visit(recordOf(message))) !== "remove") continue;
          const Entries = [{ Id: "0", ReceiptHandle: message.ReceiptHandle }];
          await this.#service.call("DeleteMessageBatch", { QueueUrl, Entries });
          kept.splice(kept.indexOf(message), 1);
        }
      }
    } finally {
      await this.#show(QueueUrl, kept);
    }
  }

  async close(): Promise<void> {
    this.#service.close();
    this.#fanOut?.close();
  }

  async #publishTo(
    topic: string,
    records: readonly OutgoingRecord[],
    outcomes: Map<OutgoingRecord, MessagingError | null>,
  ): Promise<void> {
    const fifo = this.#service.isFifo(topic);
    const fanOut = this.#fanOut?.has(topic) ? this.#fanOut : null;
    const limit = fanOut === null ? largestMessage : largestNotice;
    const prepared: Prepared[] = [];
    for (const [index, record] of records.entries()) {
      try {
        prepared.push({ record, entry: this.#entry(record, index % 1000, record.delayMs, fifo, limit) });
      } catch (error) {
        outcomes.set(record, asMessagingError(error));
      }
    }
    let failure: MessagingError | null = null;
    for (const part of batches(prepared, limit)) {
      // After a failure the rest waits for the next try too: otherwise it would overtake.
      const failures: ReadonlyMap<string, MessagingError> | MessagingError =
        failure ??
        (await this.#send(
          topic,
          part.map(({ entry }) => entry),
          fanOut,
        ).catch(asMessagingError));
      if (failures instanceof MessagingError) failure = failures;
      for (const { record, entry } of part) {
        outcomes.set(record, failures instanceof MessagingError ? failures : (failures.get(entry.Id) ?? null));
      }
    }
  }

  #entry(
    record: Omit<OutgoingRecord, "topic" | "delayMs">,
    index: number,
    delayMs: number,
    fifo: boolean,
    limit: number,
  ): SqsSendEntry {
    if (fifo && delayMs > 0) {
      throw new MessagingError("UNSUPPORTED", "FIFO queues cannot delay single messages");
    }
    let deduplicate = this.#deduplicate.get(record);
    if (deduplicate === undefined) this.#deduplicate.set(record, (deduplicate = randomUUID()));
    return entryOf(record, { index, delayMs, group: fifo ? groupOf(record) : null, deduplicate, limit });
  }

  async #send(
    topic: string,
    entries: readonly SqsSendEntry[],
    fanOut: FanOut | null,
  ): Promise<ReadonlyMap<string, MessagingError>> {
    const toQueue = async () =>
      this.#service.call("SendMessageBatch", { QueueUrl: await this.#service.urlOf(topic), Entries: entries });
    const { Failed = [], Successful = [] } = await (fanOut?.publish(topic, entries) ?? toQueue());
    // A response without a word of a message does not confirm it: it may come from a proxy.
    const outcomes = new Map(entries.map(({ Id }) => [Id, unconfirmed()]));
    for (const { Id } of Successful) outcomes.delete(Id);
    for (const { Id, Code, Message, SenderFault } of Failed) {
      const code = SenderFault ? "REFUSED" : "UNREACHABLE";
      outcomes.set(Id, new MessagingError(code, `the cloud queue refused: ${Message ?? Code}`));
    }
    return outcomes;
  }

  readonly #sendCopy: SendCopy = async (topic, record, headers, delayMs) => {
    const copy = copyOf(record, headers);
    const entry = this.#entry(copy, 0, Math.min(delayMs, longestDelay), this.#service.isFifo(topic), largestMessage);
    const [failure] = (await this.#send(topic, [entry], null)).values();
    if (failure !== undefined) throw failure;
  };

  /** Makes messages visible again. */
  async #show(QueueUrl: string, messages: readonly SqsMessage[]): Promise<void> {
    for (let at = 0; at < messages.length; at += batch) {
      const Entries = messages
        .slice(at, at + batch)
        .map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle, VisibilityTimeout: 0 }));
      await this.#service.call("ChangeMessageVisibilityBatch", { QueueUrl, Entries });
    }
  }
}

/** Makes a broker that is not connected yet. With fan-out the application's name is the group of consumers that name none. */
export async function createSqsBroker(
  config?: CloudQueueConfig | CloudQueueOptions | null,
  application?: string,
): Promise<SqsBroker> {
  const settings = CloudQueueConfig.from([config]);
  return new SqsBroker(await loadSqs(), settings, settings.fanOut ? await loadSns() : null, application);
}

function unconfirmed(): MessagingError {
  return new MessagingError("UNREACHABLE", "the cloud queue did not confirm the message");
}

/** At most ten messages and so many bytes in one request. */
function* batches(all: readonly Prepared[], limit: number): Generator<Prepared[]> {
  let part: Prepared[] = [];
  let bytes = 0;
  for (const prepared of all) {
    const size = entrySize(prepared.entry);
    if (part.length === batch || (part.length > 0 && bytes + size > limit)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(prepared);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
