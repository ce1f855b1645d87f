import type { Delivery, IncomingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";
import type { AmqpMessage } from "./amqplib.js";
import { recordOf } from "./records.js";

/** The consumer of a delivery. */
export interface DeliveryOwner {
  /** False if the queue ends with the process: nothing can wait at the broker for it. */
  readonly isLasting: boolean;
  ack(delivery: AmqpDelivery): void;
  release(delivery: AmqpDelivery): void;
  retry(delivery: AmqpDelivery, headers: Readonly<Record<string, string>>, delay: number): Promise<void>;
}

/** A message of a queue. */
export class AmqpDelivery implements Delivery {
  readonly record: IncomingRecord;
  readonly earlier: number;
  readonly unreadable: MessagingError | undefined;
  readonly message: AmqpMessage;
  readonly #owner: DeliveryOwner;
  readonly retry?: (headers: Readonly<Record<string, string>>, delay: number) => Promise<void>;

  constructor(message: AmqpMessage, owner: DeliveryOwner, earlier: number) {
    this.record = recordOf(message);
    this.earlier = earlier;
    this.unreadable = message.properties.unreadable;
    this.message = message;
    this.#owner = owner;
    if (owner.isLasting) this.retry = retry;
  }

  ack(): void {
    this.#owner.ack(this);
  }

  async release(): Promise<void> {
    this.#owner.release(this);
  }

  /** Called by `retry`. */
  retryLater(headers: Readonly<Record<string, string>>, delay: number): Promise<void> {
    return this.#owner.retry(this, headers, delay);
  }
}

function retry(this: AmqpDelivery, headers: Readonly<Record<string, string>>, delay: number): Promise<void> {
  return this.retryLater(headers, delay);
}
