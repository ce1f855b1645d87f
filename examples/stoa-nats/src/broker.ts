import { randomUUID } from "node:crypto";
import {
  type Broker,
  type BrokerReplies,
  type ConsumeRequest,
  type DeliverySink,
  type IncomingRecord,
  MessagingError,
  type OutgoingRecord,
} from "stoa/messaging";
import type { NatsConfig } from "./config.js";
import { NatsConsumer } from "./consumer.js";
import { type Link, openLink, translated } from "./link.js";
import { headersOf, recordOf } from "./records.js";

/** NATS JetStream. A topic is a subject in a stream, and a group is a durable consumer of it. */
export class NatsBroker implements Broker {
  readonly name = "nats";
  /** Servers take 1 MiB by default. */
  readonly abilities = { maxDelayMs: 0, broadcast: true, seek: false, maxBytes: 1_000_000 };
  /** Requests get their replies on a subject of this process, past the streams. */
  readonly replies: BrokerReplies = {
    address: `stoa.${randomUUID()}.replies`,
    receive: null,
    send: async (record) =>
      (await this.#connected()).connection.publish(record.topic, record.body, { headers: headersOf(record) }),
  };
  /** One for each record, however often it is sent: the stream drops what it gets twice. */
  readonly #messageIds = new WeakMap<OutgoingRecord, string>();
  #link: Promise<Link> | null = null;
  #isOpen = false;
  #lost = 0;

  constructor(
    readonly settings: NatsConfig,
    readonly defaultGroup: string,
  ) {}

  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#connected();
  }

  readonly ping = async (): Promise<void> => (await this.#connected()).connection.flush();

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const link = await this.#connected();
    return Promise.all(records.map((record) => this.#publish(link, record)));
  }

  async consume(request: ConsumeRequest, sink: DeliverySink): Promise<NatsConsumer> {
    const link = await this.#connected();
    try {
      if (request.deadLetterTopic !== null) await link.stream(request.deadLetterTopic);
      const consumer = new NatsConsumer(link, await link.stream(request.topic), request, sink);
      await consumer.open(this.#lost);
      return consumer;
    } catch (error) {
      throw translated(error);
    }
  }

  async browse(topic: string, limit: number, visit: (record: IncomingRecord) => Promise<"keep" | "remove">) {
    const { streams, stream: find } = await this.#connected();
    const stream = await find(topic);
    const { first_seq, last_seq } = (await streams.info(stream)).state;
    for (let seq = Math.max(first_seq, 1), seen = 0; seq <= last_seq && seen < limit; seq++) {
      const stored = await streams.getMessage(stream, { seq });
      if (stored?.subject !== topic) continue;
      seen++;
      const record = recordOf(stored.data, stored.header, `${stream}:${seq}`, stored.time);
      if ((await visit(record)) === "remove") await streams.deleteMessage(stream, seq);
    }
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    const link = await this.#link?.catch(() => null);
    if (link && !link.connection.isClosed()) await link.connection.drain();
  }

  async #publish(link: Link, record: OutgoingRecord): Promise<MessagingError | null> {
    const msgID = this.#messageIds.get(record) ?? randomUUID();
    this.#messageIds.set(record, msgID);
    try {
      await link.stream(record.topic);
      await link.js.publish(record.topic, record.body, { headers: headersOf(record), msgID, timeout: link.timeout });
      return null;
    } catch (cause) {
      const error = translated(cause);
      // The records behind it are on the same connection: they must not overtake it.
      if (error.code === "UNREACHABLE") await link.connection.close();
      return error;
    }
  }

  /** The connection; another one if the last one has broken. */
  #connected(): Promise<Link> {
    if (!this.#isOpen) return Promise.reject(new MessagingError("CLOSED", "the nats broker is not open"));
    this.#link ??= openLink(this.settings).then((link) => {
      void link.connection.closed().then(() => {
        [this.#link, this.#lost] = [null, Date.now()];
      });
      link.connection.subscribe(this.replies.address, {
        callback: (_error, { data, headers }) => this.replies.receive?.(recordOf(data, headers, "", new Date())),
      });
      return link;
    });
    this.#link.catch(() => (this.#link = null));
    return this.#link;
  }
}
