import { loadPackage, notInstalled } from "../../../kit/optional-package.js";
import type { MessagingError } from "../errors.js";

/*
 * The part of amqplib that is used. Its own types are not named: the declarations of Stoa must compile where it is not
 * installed.
 */

export interface Amqplib {
  connect(url: string, options: object): Promise<AmqpModel>;
}

interface Emitter {
  on(event: string, listener: (value: never) => void): unknown;
}

export interface AmqpModel extends Emitter {
  createChannel(): Promise<AmqpChannel>;
  createConfirmChannel(): Promise<ConfirmChannel>;
  close(): Promise<void>;
}

export interface AmqpChannel extends Emitter {
  readonly connection?: { readonly serverProperties?: { readonly version?: unknown } };
  prefetch(count: number): Promise<unknown>;
  assertExchange(name: string, type: string, options?: object): Promise<unknown>;
  assertQueue(name: string, options?: object): Promise<{ readonly queue: string; readonly messageCount: number }>;
  checkQueue(name: string): Promise<{ readonly messageCount: number }>;
  deleteQueue(name: string): Promise<unknown>;
  bindQueue(queue: string, exchange: string, pattern: string, args?: object): Promise<unknown>;
  bindExchange(destination: string, source: string, pattern: string, args?: object): Promise<unknown>;
  consume(
    queue: string,
    onMessage: (message: AmqpMessage | null) => void,
    options?: object,
  ): Promise<{ readonly consumerTag: string }>;
  cancel(tag: string): Promise<unknown>;
  /** Not documented. `cancel` forgets the consumer, and a message for one that is not known ends the connection. */
  registerConsumer?(tag: string, onMessage: (message: AmqpMessage | null) => void): void;
  unregisterConsumer?(tag: string): void;
  get(queue: string, options?: object): Promise<AmqpMessage | false>;
  ack(message: AmqpMessage, allUpTo?: boolean): void;
  nack(message: AmqpMessage, allUpTo: boolean, requeue: boolean): void;
  close(): Promise<void>;
}

export interface ConfirmChannel extends AmqpChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: object,
    confirmed: (error: unknown) => void,
  ): boolean;
}

/** The prefetch of a consumer of the broker. */
export interface Credit {
  /** Messages in it that wait for their next attempt. */
  parked: number;
}

export interface AmqpMessage {
  readonly content: Buffer;
  readonly fields: { readonly deliveryTag: number; readonly redelivered?: boolean; readonly routingKey?: string };
  readonly properties: {
    readonly messageId?: string | undefined;
    readonly timestamp?: number | undefined;
    readonly contentType?: string | undefined;
    readonly replyTo?: string | undefined;
    readonly correlationId?: string | undefined;
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
    /** The reason if the headers could not be read. */
    readonly unreadable?: MessagingError | undefined;
  };
  /** The prefetch that it takes up. Set by our consumer. */
  credit?: Credit;
}

/** The version of the broker, "3.10.8"; "" if it does not say. */
export function versionOf({ connection }: AmqpChannel): string {
  return String(connection?.serverProperties?.version ?? "");
}

/** Loads the client library, which applications without an AMQP broker do not need. */
export function loadAmqplib(): Promise<Amqplib> {
  return loadPackage(importAmqplib, "amqplib", "enableAmqp", "@2.3");
}

async function importAmqplib(): Promise<Amqplib> {
  const { connect } = await import("amqplib").catch(notInstalled);
  return { connect: connect as unknown as Amqplib["connect"] };
}
