import { setTimeout as sleep } from "node:timers/promises";
import { milliseconds } from "../../../kit/time/duration.js";
import { within } from "../../../kit/time/within.js";
import type { KvStoreConfig } from "../config.js";
import type { Ioredis } from "../load-ioredis.js";
import { translateError, unreachable } from "../translate-error.js";
import { closedError, Link } from "./link.js";
import { createRawClient, invoke, pauseBefore, type ServerAddress } from "./raw-client.js";

/** Milliseconds between two signs of life: nothing else would tell that a silent connection is dead. */
const pingEvery = 10_000;

export interface SubscriberEvents {
  onMessage(channel: string, message: string): void;
  onPatternMessage(pattern: string, channel: string, message: string): void;
  /** The connection was lost and made again: subscribe to these, as [command, name]. */
  names(): Iterable<readonly [command: string, name: string]>;
  onGap(): void;
}

/**
 * The connection for messages. When it is lost, another is made, in a cluster to any server that is known: each gets all
 * messages. ioredis would subscribe again by itself, with promises that no code handles.
 */
export class Subscriber {
  readonly #ioredis: Ioredis;
  readonly #config: KvStoreConfig;
  readonly #servers: () => readonly ServerAddress[];
  readonly #events: SubscriberEvents;
  #link: Promise<Link> | null = null;
  #lastError: unknown = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();

  constructor(
    ioredis: Ioredis,
    config: KvStoreConfig,
    servers: () => readonly ServerAddress[],
    events: SubscriberEvents,
  ) {
    this.#ioredis = ioredis;
    this.#config = config;
    this.#servers = servers;
    this.#events = events;
  }

  async send(command: string, name: string): Promise<void> {
    const link = await this.#open();
    try {
      await (invoke(link.client, command, [name], false) as Promise<unknown>);
    } catch (error) {
      throw translateError(error, command, this.#config.address, link.lastError);
    }
  }

  close(): void {
    this.#closing.abort();
    clearInterval(this.#timer);
    void this.#link?.then((link) => link.close()).catch(() => undefined);
  }

  /** The connection; waits for one that is being made for no longer than to connect may take. */
  async #open(): Promise<Link> {
    if (this.#closing.signal.aborted) throw closedError();
    if (this.#link === null) {
      const first = this.#connect().then((link) => this.#watched(link));
      this.#link = first;
      first.catch(() => {
        if (this.#link === first) this.#link = null;
      });
    }
    return within(this.#link, milliseconds(this.#config.connectTimeout), () => {
      throw unreachable(this.#config.address, this.#lastError);
    });
  }

  /** Connects to one server after the other, until one accepts. */
  async #connect(): Promise<Link> {
    let failure: unknown = closedError();
    for (const server of shuffled(this.#servers())) {
      if (this.#closing.signal.aborted) throw closedError();
      const client = createRawClient(this.#ioredis, this.#config, "subscriber", server);
      const link = new Link(client, this.#config.address);
      try {
        await link.open(milliseconds(this.#config.connectTimeout));
        return link;
      } catch (error) {
        failure = this.#lastError = error;
        link.close();
      }
    }
    throw failure;
  }

  /**
   * Takes the messages of a connection, notices its end, and keeps it from being dead in silence. A message that came before
   * the gap was told would hide which ones are missing.
   */
  #watched(link: Link): Link {
    const { client } = link;
    client.on("message", (channel: string, message: string) => this.#events.onMessage(channel, message));
    client.on("pmessage", (pattern: string, channel: string, message: string) =>
      this.#events.onPatternMessage(pattern, channel, message),
    );
    const lost = (): void => {
      clearInterval(this.#timer);
      this.#lastError = link.lastError ?? this.#lastError;
      if (this.#closing.signal.aborted) return;
      this.#link = this.#reconnect();
      // It ends without a connection only when the store is closed.
      this.#link.catch(() => undefined);
    };
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      const pong = invoke(link.client, "ping", [], false) as Promise<unknown>;
      pong.catch((error: Error) => link.renew(link.epoch, error));
    }, pingEvery).unref();
    link.onEnd(lost);
    if (this.#closing.signal.aborted) link.close();
    return link;
  }

  async #reconnect(): Promise<Link> {
    for (let attempt = 1; ; attempt++) {
      await sleep(pauseBefore(attempt), undefined, { signal: this.#closing.signal });
      let link: Link | null = null;
      try {
        link = await this.#connect();
        for (const [command, name] of this.#events.names()) {
          await (invoke(link.client, command, [name], false) as Promise<unknown>);
        }
        // It may have been lost again in between.
        if (!link.ready) throw link.lastError;
      } catch (error) {
        this.#lastError = error ?? this.#lastError;
        link?.close();
        continue;
      }
      this.#events.onGap();
      return this.#watched(link);
    }
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
