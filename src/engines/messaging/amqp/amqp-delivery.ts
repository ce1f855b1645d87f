import type { Delivery, IncomingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";
import type { AmqpMessage } from "./amqplib.js";
import { identityOf, recordOf } from "./records.js";

/** The consumer of a delivery. */
export interface AmqpDeliveryOwner {
  /** False if the queue ends with the process: nothing can wait at the broker for it. */
  readonly isLasting: boolean;
  isSuspect(message: AmqpMessage): boolean;
  /** The message is done. */
  done(delivery: AmqpDelivery): void;
  release(message: AmqpMessage): void;
  wait(message: AmqpMessage): void;
  retry(delivery: AmqpDelivery, headers: Readonly<Record<string, string>>, delayMs: number): Promise<void>;
}

/** A message of a queue. */
export class AmqpDelivery implements Delivery {
  readonly record: IncomingRecord;
  readonly unreadable: MessagingError | undefined;
  readonly retry?: (headers: Readonly<Record<string, string>>, delayMs: number) => Promise<void>;

  constructor(
    readonly message: AmqpMessage,
    readonly owner: AmqpDeliveryOwner,
    readonly earlier: number,
  ) {
    this.record = recordOf(message);
    this.unreadable = message.properties.unreadable;
    if (owner.isLasting) this.retry = retry;
  }

  get identity(): string | null {
    return identityOf(this.message, this.record);
  }

  /** A suspect is a copy of a message that was delivered before. */
  get isFirst(): boolean {
    return !this.message.fields.redelivered && !this.owner.isSuspect(this.message);
  }

  ack(): void {
    this.owner.done(this);
  }

  async release(): Promise<void> {
    this.owner.release(this.message);
  }

  wait(): void {
    this.owner.wait(this.message);
  }
}

function retry(this: AmqpDelivery, headers: Readonly<Record<string, string>>, delayMs: number): Promise<void> {
  return this.owner.retry(this, headers, delayMs);
}
