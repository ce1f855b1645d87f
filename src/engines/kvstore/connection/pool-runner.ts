import type { CallOptions, CommandRunner } from "../commands/runner.js";
import type { KvStoreConfig } from "../config.js";
import { KvStoreError } from "../errors.js";
import { translateError } from "../translate-error.js";
import type { BlockingLinks } from "./blocking.js";
import type { Link } from "./link.js";
import type { LinkPool } from "./pool.js";
import { type Argument, invoke } from "./raw-client.js";

/** Is told of every call, but not of those that wait: they say nothing of the server's time. */
export interface CallMeter {
  settled(call: string, seconds: number, error: KvStoreError | null): void;
}

/** Sends each call at once, on one of the shared connections, or on one of its own where it waits on the server. */
export class PoolRunner implements CommandRunner {
  readonly prefix: string;
  readonly clustered: boolean;
  meter: CallMeter | null = null;
  readonly #config: KvStoreConfig;
  readonly #pool: LinkPool;
  readonly #blocking: BlockingLinks;

  constructor(config: KvStoreConfig, pool: LinkPool, blocking: BlockingLinks) {
    this.prefix = config.prefix;
    this.clustered = config.clusterMode;
    this.#config = config;
    this.#pool = pool;
    this.#blocking = blocking;
  }

  run<T>(
    name: string,
    args: readonly Argument[],
    read: (reply: unknown) => T,
    { bytes = false, blockMs, signal }: CallOptions = {},
  ): Promise<T> {
    const send = (link: Link): Promise<unknown> => invoke(link.client, name, args, bytes) as Promise<unknown>;
    if (blockMs !== undefined) {
      return this.#blocking.run(blockMs, signal, (link) => this.#translated(name, link, send(link))).then(read);
    }
    const reply = this.guard(name, send).then(read);
    return this.meter === null ? reply : measured(this.meter, name, reply);
  }

  /** Sends on a shared connection and bounds the time: ioredis bounds that of each attempt only, in a cluster. */
  guard<T>(call: string, send: (link: Link) => Promise<T>): Promise<T> {
    let link: Link;
    try {
      link = this.#pool.choose();
    } catch (error) {
      return Promise.reject(error);
    }
    const reply = this.#translated(call, link, send(link));
    return this.clustered ? this.#bounded(call, reply) : reply;
  }

  async #bounded<T>(call: string, reply: Promise<T>): Promise<T> {
    const { commandTimeout, address } = this.#config;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const message = `the key-value store at ${address} did not reply to ${call} in time`;
      timer = setTimeout(() => reject(new KvStoreError("TIMEOUT", message)), commandTimeout);
    });
    try {
      return await Promise.race([reply, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #translated<T>(call: string, link: Link, reply: Promise<T>): Promise<T> {
    const { epoch } = link;
    return reply.catch((error: unknown) => {
      const translated = translateError(error, call, this.#config.address, link.lastError);
      // The reply may still come, or never: then each call after it would get the reply of another.
      if (translated.code === "TIMEOUT") link.renew(epoch, translated);
      throw translated;
    });
  }
}

async function measured<T>(meter: CallMeter, call: string, reply: Promise<T>): Promise<T> {
  const start = performance.now();
  let failure: KvStoreError | null = null;
  try {
    return await reply;
  } catch (error) {
    if (error instanceof KvStoreError) failure = error;
    throw error;
  } finally {
    meter.settled(call, (performance.now() - start) / 1000, failure);
  }
}
