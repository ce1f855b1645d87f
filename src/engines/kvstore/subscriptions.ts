import { type OptionsOf, option, options } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { keyOf } from "./commands/values.js";
import type { KvStoreConfig } from "./config.js";
import type { ServerAddress } from "./connection/raw-client.js";
import { Subscriber } from "./connection/subscriber.js";
import type { Ioredis } from "./load-ioredis.js";
import { escapePattern } from "./scan.js";

export type MessageHandler = (message: string, channel: string) => unknown;

const subscribeOptions = options("subscribe()", {
  /** Called when the connection has been lost and made again: messages between are lost. */
  onGap: option<() => unknown>(is.function),
});

export interface SubscribeOptions extends OptionsOf<typeof subscribeOptions.fields> {}

/** A subscription. Ends with `close()`, or with `await using`. */
export interface KvSubscription extends AsyncDisposable {
  close(): Promise<void>;
}

interface Listener {
  readonly handler: MessageHandler;
  readonly onGap: (() => unknown) | undefined;
}

type Kind = "channel" | "pattern";

/** Channels and patterns with their handlers, on one separate connection, which is made with the first. */
export class Subscriptions {
  readonly #prefix: string;
  readonly #logger: Logger | undefined;
  readonly #subscriber: Subscriber;
  readonly #byName = { channel: new Map<string, Set<Listener>>(), pattern: new Map<string, Set<Listener>>() };

  constructor(
    ioredis: Ioredis,
    config: KvStoreConfig,
    servers: () => readonly ServerAddress[],
    logger: Logger | undefined,
  ) {
    this.#prefix = config.prefix;
    this.#logger = logger;
    this.#subscriber = new Subscriber(ioredis, config, servers, {
      onMessage: (channel, message) => this.#deliver("channel", channel, channel, message),
      onPatternMessage: (pattern, channel, message) => this.#deliver("pattern", pattern, channel, message),
      names: () => [
        ...[...this.#byName.channel.keys()].map((name) => ["subscribe", name] as const),
        ...[...this.#byName.pattern.keys()].map((name) => ["psubscribe", name] as const),
      ],
      onGap: () => this.#tellGap(),
    });
  }

  async subscribe(
    kind: Kind,
    name: string,
    handler: MessageHandler,
    options?: SubscribeOptions,
  ): Promise<KvSubscription> {
    const { onGap } = subscribeOptions.read([options]);
    if (typeof handler !== "function") throw new ValueError("subscribe() takes a function (message, channel) second");
    const whole = keyOf(kind === "pattern" ? escapePattern(this.#prefix) : this.#prefix, name);
    const listener: Listener = { handler, onGap };
    const all = this.#byName[kind];
    const known = all.get(whole);
    if (known === undefined) all.set(whole, new Set([listener]));
    else known.add(listener);
    try {
      // Also for a name that is known: it resolves when the server knows it.
      await this.#subscriber.send(kind === "channel" ? "subscribe" : "psubscribe", whole);
    } catch (error) {
      this.#forget(kind, whole, listener);
      throw error;
    }
    const close = async (): Promise<void> => {
      if (!this.#forget(kind, whole, listener)) return;
      // A connection that is lost has no subscription to end.
      await this.#subscriber.send(kind === "channel" ? "unsubscribe" : "punsubscribe", whole).catch(() => undefined);
    };
    return { close, [Symbol.asyncDispose]: close };
  }

  close(): void {
    this.#subscriber.close();
  }

  #deliver(kind: Kind, name: string, channel: string, message: string): void {
    const own = channel.slice(this.#prefix.length);
    for (const { handler } of this.#byName[kind].get(name) ?? []) this.#safely(() => handler(message, own));
  }

  #tellGap(): void {
    for (const all of Object.values(this.#byName)) {
      for (const listeners of all.values()) {
        for (const { onGap } of listeners) if (onGap !== undefined) this.#safely(onGap);
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

  /** True if no other listener has subscribed to the name. */
  #forget(kind: Kind, name: string, listener: Listener): boolean {
    const all = this.#byName[kind];
    const listeners = all.get(name);
    if (!listeners?.delete(listener) || listeners.size > 0) return false;
    all.delete(name);
    return true;
  }
}
