import { milliseconds } from "../../../kit/time/duration.js";
import { within } from "../../../kit/time/within.js";
import { MessagingError } from "../errors.js";
import type { AmqpChannel, Amqplib, AmqpMessage, AmqpModel, ConfirmChannel } from "./amqplib.js";
import type { AmqpConfig } from "./config.js";
import { gatherWrites } from "./gather-writes.js";
import { amqpError } from "./translate-error.js";
import { surviveHeaders } from "./unreadable-headers.js";

/** A channel for publishes, with the messages that the broker has returned because no queue would have received them. */
export interface PublishChannel {
  readonly channel: ConfirmChannel;
  readonly returned: Set<string>;
  /** The exchanges of topics that were declared; forgotten with the connection. */
  readonly exchanges: Map<string, string>;
  /** The levels of delays that were declared. */
  levels: number;
  /** The destinations of delayed messages that were declared. */
  readonly delayed: Set<string>;
  /** True if the channel takes replies to its requests. */
  replies: boolean;
}

/**
 * A connection to the broker. It is opened when it is needed, and opened again when it is needed after it was lost: publishers
 * and consumers that need it try again with growing pauses.
 */
export class AmqpLink {
  readonly #lib: Amqplib;
  readonly #config: AmqpConfig;
  #model: Promise<AmqpModel> | null = null;
  #publishing: Promise<PublishChannel> | null = null;
  /** The error that ended the last connection. Its channels are closed without one. */
  #reason: unknown = null;
  /** The place of the last node in the list of all. */
  #node = 0;
  #blocked = false;
  #closed = false;

  constructor(lib: Amqplib, config: AmqpConfig) {
    this.#lib = lib;
    this.#config = config;
  }

  /** True while RabbitMQ says that it reads nothing from this connection, because it is short of memory or disk. */
  get isBlocked(): boolean {
    return this.#blocked;
  }

  /** A new channel. `lost` is called once when it ends without being closed by us. */
  async channel(lost: (error: unknown) => void): Promise<AmqpChannel> {
    const channel = await this.#create((model) => model.createChannel());
    watch(channel, (error) => lost(this.translate(error ?? this.#reason ?? new Error("the channel was closed"))));
    return channel;
  }

  /** Runs something on a channel for this alone: an error of the broker ends the channel it happened on. */
  async onChannel<T>(use: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    const channel = await this.channel(() => {});
    try {
      return await use(channel);
    } catch (error) {
      throw this.translate(error);
    } finally {
      await closed(channel);
    }
  }

  /** The channel that all publishes share. */
  publishing(): Promise<PublishChannel> {
    this.#publishing ??= this.#openPublishing().catch((error: unknown) => {
      this.#publishing = null;
      throw this.translate(error);
    });
    return this.#publishing;
  }

  translate(error: unknown): MessagingError {
    return amqpError(error, this.#config.address);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const model = this.#model;
    this.#model = null;
    const open = await model?.catch(() => null);
    if (open) await closed(open);
  }

  /** A new channel. A connection that was closed before it could be watched is forgotten: the next call opens another. */
  async #create<T>(create: (model: AmqpModel) => Promise<T>): Promise<T> {
    const model = this.#connected();
    try {
      return await create(await model);
    } catch (error) {
      if (this.#model === model && (error as Error).name === "IllegalOperationError") this.#model = null;
      throw this.translate(error);
    }
  }

  #connected(): Promise<AmqpModel> {
    if (this.#closed) return Promise.reject(new MessagingError("CLOSED", "the AMQP broker has been closed"));
    if (this.#model !== null) return this.#model;
    // One that was forgotten already must not take the connection after it along.
    const gone = () => {
      if (this.#model !== model) return;
      this.#model = null;
      this.#publishing = null;
    };
    const model: Promise<AmqpModel> = this.#connect(gone).catch((error: unknown) => {
      gone();
      throw this.translate(error);
    });
    this.#model = model;
    return model;
  }

  async #connect(gone: () => void): Promise<AmqpModel> {
    const model = await this.#connectInTurn();
    gatherWrites(model);
    surviveHeaders(model);
    this.#reason = null;
    // Without a listener an `error` would end the process. The channels report the loss.
    model.on("error", (error: unknown) => {
      this.#reason = error;
    });
    this.#blocked = false;
    model.on("blocked", () => {
      this.#blocked = true;
    });
    model.on("unblocked", () => {
      this.#blocked = false;
    });
    model.on("close", gone);
    return model;
  }

  /** A connection to the node of the last one, or to the next that accepts one. */
  async #connectInTurn(): Promise<AmqpModel> {
    const { urls, heartbeat, tls } = this.#config;
    const timeout = milliseconds(this.#config.connectTimeout);
    const options = { noDelay: true, keepAlive: true, timeout, ...tls };
    for (let left = urls.length; ; this.#node = (this.#node + 1) % urls.length) {
      const address = new URL(urls[this.#node]!);
      if (!address.searchParams.has("heartbeat")) address.searchParams.set("heartbeat", String(heartbeat));
      try {
        // The timeout of the library starts over with each byte: a broker could keep it waiting without end.
        return await connectWithin(timeout * 2, (signal) => this.#lib.connect(address.href, { ...options, signal }));
      } catch (error) {
        if (--left === 0 || this.#closed) throw error;
      }
    }
  }

  async #openPublishing(): Promise<PublishChannel> {
    const channel = await this.#create((model) => model.createConfirmChannel());
    const publishing = {
      channel,
      returned: new Set<string>(),
      exchanges: new Map<string, string>(),
      levels: 0,
      delayed: new Set<string>(),
      replies: false,
    };
    watch(channel, () => {
      this.#publishing = null;
    });
    channel.on("return", (message: AmqpMessage) => {
      if (message.properties.messageId !== undefined) publishing.returned.add(message.properties.messageId);
    });
    return publishing;
  }
}

/**
 * Closes a channel or a connection. `close()` of the library never ends if the connection is lost before the broker has
 * responded; the event comes then, too.
 */
export function closed(subject: AmqpChannel | AmqpModel): Promise<void> {
  return new Promise((resolve) => {
    subject.on("close", () => resolve());
    // Something that is closing throws.
    Promise.resolve()
      .then(() => subject.close())
      .then(resolve, () => resolve());
  });
}

/** The connection, unless it takes longer than so many milliseconds. One that comes too late is closed. */
function connectWithin(limit: number, connect: (signal: AbortSignal) => Promise<AmqpModel>): Promise<AmqpModel> {
  const late = new AbortController();
  const connecting = connect(late.signal);
  return within(connecting, limit, () => {
    late.abort();
    connecting.then(closed, () => {});
    throw new Error(`no connection within ${limit} ms`);
  });
}

function watch(channel: AmqpChannel, lost: (error: unknown) => void): void {
  let reason: unknown = null;
  let over = false;
  channel.on("error", (error: unknown) => {
    reason = error;
  });
  channel.on("close", () => {
    if (over) return;
    over = true;
    lost(reason);
  });
}
