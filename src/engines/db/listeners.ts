import type { Logger } from "../../kit/logger.js";
import { ValueError } from "../../kit/value-error.js";
import type { Notification, NotificationHandler, Subscription } from "./database.js";
import type { Engine } from "./engine.js";
import type { Pool } from "./pool/pool.js";

/** The handlers of each channel. */
export class Listeners {
  #source: { readonly engine: Engine; readonly pool: Pool } | null = null;
  readonly #handlers = new Map<string, Set<NotificationHandler>>();

  constructor(private readonly logger: Logger | undefined) {}

  attach(engine: Engine, pool: Pool): void {
    this.#source = { engine, pool };
  }

  async add(channel: string, handler: NotificationHandler): Promise<Subscription> {
    if (typeof channel !== "string" || channel === "" || channel.includes("\0") || Buffer.byteLength(channel) > 63) {
      throw new ValueError("a channel is a name of 1 to 63 bytes");
    }
    if (typeof handler !== "function") throw new ValueError("listen takes a channel and a function");
    // A set per subscription, so that one function can listen twice.
    const own: NotificationHandler = (payload, notification) => handler(payload, notification);
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers.add(own));
    const close = async (): Promise<void> => {
      if (!handlers.delete(own) || handlers.size > 0) return;
      this.#handlers.delete(channel);
      await this.#source?.engine.unlisten(channel, this.#source.pool);
    };
    try {
      await this.#source?.engine.listen(channel, this.#source.pool);
    } catch (error) {
      handlers.delete(own);
      if (handlers.size === 0) this.#handlers.delete(channel);
      throw error;
    }
    return { channel, close, [Symbol.asyncDispose]: close };
  }

  readonly deliver = (notification: Notification): void => {
    for (const handler of [...(this.#handlers.get(notification.channel) ?? [])]) {
      void this.#call(handler, notification);
    }
  };

  clear(): void {
    this.#handlers.clear();
    this.#source = null;
  }

  async #call(handler: NotificationHandler, notification: Notification): Promise<void> {
    try {
      await handler(notification.payload, notification);
    } catch (error) {
      this.logger?.error("a handler of a database notification failed", { channel: notification.channel, error });
    }
  }
}
