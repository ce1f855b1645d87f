import type { CallOptions, CommandRunner } from "../commands/runner.js";
import type { KvStoreConfig } from "../config.js";
import { KvStoreError } from "../errors.js";
import { translateError } from "../translate-error.js";
import type { BlockingLinks } from "./blocking.js";
import type { Link } from "./link.js";
import type { LinkPool } from "./pool.js";
import { type Argument, invoke } from "./raw-client.js";

/** Is told of every call. */
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

  async run<T>(
    name: string,
    args: readonly Argument[],
    read: (reply: unknown) => T,
    { bytes = false, blockMs, signal }: CallOptions = {},
  ): Promise<T> {
    const { meter } = this;
    const start = meter === null ? 0 : performance.now();
    let failure: KvStoreError | null = null;
    try {
      const send = (link: Link): Promise<unknown> => invoke(link.client, name, args, bytes) as Promise<unknown>;
      const reply =
        blockMs === undefined
          ? await this.guard(name, send)
          : await this.#blocking.run(blockMs, signal, (link) => this.translated(name, link, send(link)));
      return read(reply);
    } catch (error) {
      if (error instanceof KvStoreError) failure = error;
      throw error;
    } finally {
      // A call that waits says nothing of the server's time.
      if (meter !== null && blockMs === undefined) meter.settled(name, (performance.now() - start) / 1000, failure);
    }
  }

  /** Sends on a shared connection and bounds the time: ioredis bounds that of each attempt only, in a cluster. */
  async guard<T>(call: string, send: (link: Link) => Promise<T>): Promise<T> {
    const link = this.#pool.choose();
    const reply = this.translated(call, link, send(link));
    if (!this.clustered) return reply;
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

  async translated<T>(call: string, link: Link, reply: Promise<T>): Promise<T> {
    try {
      return await reply;
    } catch (error) {
      throw translateError(error, call, this.#config.address, link.lastError);
    }
  }
}
