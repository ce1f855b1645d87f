import type { Delivery, IncomingRecord } from "../broker.js";
import type { AmqpMessage } from "./amqplib.js";
import { earlierOf, recordOf } from "./records.js";

/** The consumer of a delivery. */
export interface DeliveryOwner {
  ack(delivery: AmqpDelivery): void;
  release(delivery: AmqpDelivery): void;
  retry(delivery: AmqpDelivery, headers: Readonly<Record<string, string>>, delay: number): Promise<void>;
}

/** A message of a queue. */
export class AmqpDelivery implements Delivery {
  readonly record: IncomingRecord;
  readonly earlier: number;
  readonly message: AmqpMessage;
  readonly #owner: DeliveryOwner;

  constructor(message: AmqpMessage, owner: DeliveryOwner) {
    this.record = recordOf(message);
    this.earlier = earlierOf(message);
    this.message = message;
    this.#owner = owner;
  }

  ack(): void {
    this.#owner.ack(this);
  }

  async release(): Promise<void> {
    this.#owner.release(this);
  }

  retry(headers: Readonly<Record<string, string>>, delay: number): Promise<void> {
    return this.#owner.retry(this, headers, delay);
  }
}
