import type { Logger } from "../../internal/logger.js";
import { ValueError } from "../../internal/value-error.js";
import { keyOf } from "./commands/values.js";
import type { KvStoreConfig } from "./config.js";
import { closedError, Link } from "./connection/link.js";
import { createRawClient, invoke } from "./connection/raw-client.js";
import type { Ioredis } from "./load-ioredis.js";
import { translateError } from "./translate-error.js";

export interface KvMessage {
  readonly channel: string;
  readonly message: string;
}

export type MessageHandler = (message: string, channel: string) => unknown;

export interface SubscribeOptions {
  /** Called when the connection has been lost and made again: messages between are lost. */
  readonly onGap?: () => unknown;
}

/** A subscription. Ends with `close()`, or with `await using`. */
export interface KvSubscription extends AsyncDisposable {
  close(): Promise<void>;
}

interface Subscriber {
  readonly handler: MessageHandler;
  readonly onGap: (() => unknown) | undefined;
}

type Kind = "channel" | "pattern";

/** Channels and patterns, on one connection of their own, which is made with the first. */
export class Subscriptions {
  readonly #ioredis: Ioredis;
  readonly #config: KvStoreConfig;
  readonly #logger: Logger | undefined;
  readonly #byName = { channel: new Map<string, Set<Subscriber>>(), pattern: new Map<string, Set<Subscriber>>() };
  #link: Promise<Link> | null = null;
  #closed = false;

  constructor(ioredis: Ioredis, config: KvStoreConfig, logger: Logger | undefined) {
    this.#ioredis = ioredis;
    this.#config = config;
    this.#logger = logger;
  }

  async subscribe(
    kind: Kind,
    name: string,
    handler: MessageHandler,
    { onGap }: SubscribeOptions = {},
  ): Promise<KvSubscription> {
    if (typeof handler !== "function") throw new ValueError("subscribe() takes a function (message, channel) second");
    if (this.#closed) throw closedError();
    const whole = keyOf(kind === "pattern" ? escapePrefix(this.#config.prefix) : this.#config.prefix, name);
    const subscriber: Subscriber = { handler, onGap };
    const all = this.#byName[kind];
    const known = all.get(whole);
    if (known === undefined) all.set(whole, new Set([subscriber]));
    else known.add(subscriber);
    try {
      // Also for a name that is known: it resolves when the server knows it.
      await this.#send(kind === "channel" ? "subscribe" : "psubscribe", whole);
    } catch (error) {
      this.#forget(kind, whole, subscriber);
      throw error;
    }
    const close = async (): Promise<void> => {
      if (!this.#forget(kind, whole, subscriber) || this.#closed) return;
      // A connection that is lost has no subscription to end.
      await this.#send(kind === "channel" ? "unsubscribe" : "punsubscribe", whole).catch(() => undefined);
    };
    return { close, [Symbol.asyncDispose]: close };
  }

  close(): void {
    this.#closed = true;
    void this.#link?.then((link) => link.close()).catch(() => undefined);
  }

  async #send(command: string, name: string): Promise<void> {
    const link = await this.#open();
    try {
      await (invoke(link.client, command, [name], false) as Promise<unknown>);
    } catch (error) {
      throw translateError(error, command, this.#config.address, link.lastError);
    }
  }

  #open(): Promise<Link> {
    this.#link ??= this.#connect().catch((error: unknown) => {
      this.#link = null;
      throw error;
    });
    return this.#link;
  }

  async #connect(): Promise<Link> {
    const client = createRawClient(this.#ioredis, this.#config, "subscriber");
    const link = new Link(client, this.#config.address);
    client.on("message", (channel: string, message: string) => this.#deliver("channel", channel, channel, message));
    client.on("pmessage", (pattern: string, channel: string, message: string) =>
      this.#deliver("pattern", pattern, channel, message),
    );
    let isFirst = true;
    client.on("ready", () => {
      if (!isFirst) this.#tellGap();
      isFirst = false;
    });
    try {
      await link.open(this.#config.connectTimeout);
    } catch (error) {
      link.close();
      throw error;
    }
    if (this.#closed) link.close();
    return link;
  }

  #deliver(kind: Kind, name: string, channel: string, message: string): void {
    const own = channel.slice(this.#config.prefix.length);
    for (const { handler } of this.#byName[kind].get(name) ?? []) this.#safely(() => handler(message, own));
  }

  #tellGap(): void {
    for (const all of Object.values(this.#byName)) {
      for (const subscribers of all.values()) {
        for (const { onGap } of subscribers) if (onGap !== undefined) this.#safely(onGap);
      }
    }
  }

  #safely(call: () => unknown): void {
    const failed = (error: unknown): void =>
      this.#logger?.error("a handler of messages of the key-value store failed", { error });
    try {
      const result = call();
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** True if nobody else has subscribed to the name. */
  #forget(kind: Kind, name: string, subscriber: Subscriber): boolean {
    const all = this.#byName[kind];
    const subscribers = all.get(name);
    if (!subscribers?.delete(subscriber) || subscribers.size > 0) return false;
    all.delete(name);
    return true;
  }
}

function escapePrefix(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}
