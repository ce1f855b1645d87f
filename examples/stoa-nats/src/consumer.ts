import { AckPolicy, type ConsumerMessages, DeliverPolicy, type JsMsg } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import {
  type BrokerConsumer,
  type ConsumeRequest,
  type Delivery,
  type DeliverySink,
  MessagingError,
} from "stoa/messaging";
import { type Link, nameOf, translated } from "./link.js";
import { recordOf } from "./records.js";

/** A pull consumer: it asks for as many messages as it has room for. */
export class NatsConsumer implements BrokerConsumer {
  readonly #name: string;
  readonly #unsettled = new Map<Delivery, JsMsg>();
  /** To be given back together at the end, so that none overtakes another. */
  readonly #late: JsMsg[] = [];
  readonly #renewing: NodeJS.Timeout;
  #messages: ConsumerMessages | null = null;
  #isHeld = false;
  #hasEnded = false;
  #wake = (): void => {};
  readonly #info = () => this.link.consumers.info(this.stream, this.#name);

  constructor(
    readonly link: Link,
    readonly stream: string,
    readonly request: ConsumeRequest,
    readonly sink: DeliverySink,
  ) {
    this.#name = nameOf(request.group);
    this.#renewing = setInterval(() => {
      for (const message of [...this.#unsettled.values(), ...this.#late]) message.working();
    }, link.ackWait / 3).unref();
  }

  /** `lost` is the time at which the last connection broke. */
  async open(lost: number): Promise<void> {
    const { num_ack_pending } = await this.#info().catch(() => this.#create());
    void this.link.connection.closed().then((error) => this.#fail(error ?? new Error("the connection has ended")));
    // What the server has sent on a broken connection comes again when its time is up: later messages must not overtake it.
    const pause = num_ack_pending > 0 ? lost + this.link.ackWait + 500 - Date.now() : 0;
    setTimeout(() => this.#pull().catch((error) => this.#fail(error)), Math.max(pause, 0));
  }

  pause(): void {
    this.#isHeld = true;
    this.#messages?.stop();
  }

  resume(): void {
    this.#isHeld = false;
    for (const message of this.#late.splice(0)) this.#deliver(message);
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#hasEnded = true;
    this.#messages?.stop();
    this.#wake();
  }

  async close(): Promise<void> {
    await this.stop();
    clearInterval(this.#renewing);
    if (this.link.connection.isClosed()) return;
    // With a delay in which the server gets them all: it sorts those whose time is up together, and delivers others in any order.
    for (const message of [...this.#unsettled.values(), ...this.#late]) message.nak(100);
    this.#unsettled.clear();
    if (this.request.broadcast) await this.link.consumers.delete(this.stream, this.#name);
    await this.link.connection.flush();
  }

  async lag(): Promise<number> {
    const { num_pending, num_ack_pending } = await this.#info();
    return num_pending + num_ack_pending;
  }

  #create() {
    const { broadcast, topic, from } = this.request;
    return this.link.consumers.add(this.stream, {
      // The server keeps a consumer of one process that has vanished for a minute.
      ...(broadcast ? { name: this.#name, inactive_threshold: nanos(60_000) } : { durable_name: this.#name }),
      filter_subject: topic,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(this.link.ackWait),
      max_ack_pending: -1,
      deliver_policy: from === "start" ? DeliverPolicy.All : DeliverPolicy.New,
    });
  }

  async #pull(): Promise<void> {
    while (!this.#hasEnded) {
      const room = this.request.prefetch - this.#unsettled.size;
      if (this.#isHeld || room <= 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const consumer = await this.link.js.consumers.get(this.stream, this.#name);
      this.#messages = await consumer.fetch({ max_messages: room, expires: 30_000 });
      for await (const message of this.#messages) this.#deliver(message);
    }
  }

  #deliver(message: JsMsg): void {
    if (this.#hasEnded || this.#isHeld) return void this.#late.push(message);
    const settle = (act: () => unknown): void => {
      if (!this.#unsettled.delete(delivery)) throw new MessagingError("LOST", "the delivery is settled or lost");
      act();
      this.#wake();
    };
    const delivery: Delivery = {
      record: recordOf(message.data, message.headers, `${this.stream}:${message.seq}`, message.time),
      earlier: message.info.deliveryCount - 1,
      ack: () => settle(() => message.ack()),
      release: async () => settle(() => (this.#hasEnded ? this.#late.push(message) : message.nak())),
    };
    this.#unsettled.set(delivery, message);
    this.sink.deliver(delivery);
  }

  #fail(error: unknown): void {
    clearInterval(this.#renewing);
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#unsettled.clear();
    this.sink.failed(translated(error));
  }
}
