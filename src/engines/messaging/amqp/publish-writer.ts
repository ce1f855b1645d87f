import type { ConfirmChannel } from "./amqplib.js";
import { mostBytes, type Publish, writePublish } from "./publish-frames.js";

/** The parts of a channel of amqplib that are no part of its interface. */
interface Inside {
  readonly ch: number;
  /** Replaced when the channel or the connection is closed. */
  readonly sendMessage: unknown;
  pushConfirmCallback(confirmed: (error: unknown) => void): void;
  readonly connection: {
    readonly sendMessage: unknown;
    readonly frameMax: number;
    sentSinceLastCheck: boolean;
    readonly channels: readonly ({
      readonly channel: unknown;
      readonly buffer: { write(bytes: Buffer): unknown };
    } | null)[];
  };
}

const blockSize = 64 * 1024;
/** Larger records are left to amqplib: what is saved here does not depend on their size. */
const largest = 16 * 1024;

/**
 * Publishes on a channel of amqplib without its encoder, which makes five buffers of each message and sends it through a stream
 * of objects: a third of the CPU time of a small message. Here all messages of one turn of the event loop are one piece of
 * memory, which is written once. Confirms and the order of messages are those of the channel.
 */
export class PublishWriter {
  readonly #channel: Inside;
  readonly #buffer: { write(bytes: Buffer): unknown };
  readonly #sends: readonly [unknown, unknown];
  /** Bytes up to `#sent` belong to the socket. */
  #block: Buffer = Buffer.alloc(0);
  #sent = 0;
  #end = 0;
  #soon = false;

  /** The writer of a channel; null if it is closed, or the inside of amqplib is another one than known here. */
  static of(channel: ConfirmChannel): PublishWriter | null {
    return hasInside(channel) ? new PublishWriter(channel) : null;
  }

  private constructor(channel: Inside) {
    this.#channel = channel;
    this.#buffer = channel.connection.channels[channel.ch]!.buffer;
    this.#sends = [channel.sendMessage, channel.connection.sendMessage];
  }

  /** Sends the message at the end of this turn. False if amqplib has to do it: a large message, or a channel that is closed. */
  publish(publish: Publish, confirmed: (error: unknown) => void): boolean {
    const size = mostBytes(publish);
    const { connection, ch } = this.#channel;
    if (size > largest || size > connection.frameMax || !this.#isOpen()) return false;
    if (this.#end + size > this.#block.length) {
      this.flush();
      this.#block = Buffer.allocUnsafeSlow(blockSize);
      this.#sent = 0;
      this.#end = 0;
    }
    this.#end = writePublish(this.#block, this.#end, ch, publish);
    this.#channel.pushConfirmCallback(confirmed);
    if (!this.#soon) {
      this.#soon = true;
      process.nextTick(() => {
        this.#soon = false;
        this.flush();
      });
    }
    return true;
  }

  /** Hands everything to the channel. What comes too late for a channel is not confirmed: amqplib says so to each. */
  flush(): void {
    const bytes = this.#block.subarray(this.#sent, this.#end);
    this.#sent = this.#end;
    if (bytes.length === 0 || !this.#isOpen()) return;
    this.#channel.connection.sentSinceLastCheck = true;
    this.#buffer.write(bytes);
  }

  #isOpen(): boolean {
    const { sendMessage, connection } = this.#channel;
    return sendMessage === this.#sends[0] && connection.sendMessage === this.#sends[1];
  }
}

function hasInside(channel: object): channel is Inside {
  const { ch, sendMessage, pushConfirmCallback, connection } = channel as Partial<Inside>;
  return (
    typeof ch === "number" &&
    typeof connection?.frameMax === "number" &&
    // Another channel may have the number of one that is closed.
    connection.channels?.[ch]?.channel === channel &&
    typeof connection.channels?.[ch]?.buffer?.write === "function" &&
    [sendMessage, pushConfirmCallback, connection.sendMessage].every((member) => typeof member === "function")
  );
}
