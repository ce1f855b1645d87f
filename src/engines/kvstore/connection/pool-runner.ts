import { milliseconds } from "../../../kit/time/duration.js";
import { rejectLater } from "../../../kit/time/reject-later.js";
import { timeLimit } from "../../../kit/time/time-limit.js";
import type { CallOptions, CommandRunner } from "../commands/runner.js";
import type { KvStoreConfig } from "../config.js";
import { KvStoreError } from "../errors.js";
import { type CallTracer, endWith } from "../trace.js";
import { translateError } from "../translate-error.js";
import type { BlockingLinks } from "./blocking.js";
import type { Link } from "./link.js";
import type { LinkPool } from "./pool.js";
import { type Argument, invoke } from "./raw-client.js";

/** Milliseconds between two questions to a server that does not reply. */
const askAgainAfter = 100;

/** Called for every call except blocking ones: their time says nothing about the server. */
export interface CallMeter {
  settled(call: string, seconds: number, error: KvStoreError | null): void;
}

/** Sends each call at once, on one of the shared connections, or on its own where it waits on the server. */
export class PoolRunner implements CommandRunner {
  readonly prefix: string;
  readonly clustered: boolean;
  meter: CallMeter | null = null;
  tracer: CallTracer | null = null;
  /** The servers that do not reply, and the error of all calls to each. */
  readonly #silent = new Map<string, KvStoreError>();
  #closed = false;
  readonly #config: KvStoreConfig;
  readonly #commandMs: number;
  readonly #pool: LinkPool;
  readonly #blocking: BlockingLinks;

  constructor(config: KvStoreConfig, pool: LinkPool, blocking: BlockingLinks) {
    this.prefix = config.prefix;
    this.clustered = config.clusterMode;
    this.#config = config;
    this.#commandMs = milliseconds(config.commandTimeout);
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
    const span = this.tracer?.start(name) ?? null;
    const reply = this.guard(name, send, args).then(read);
    if (span !== null) endWith(span, reply);
    return this.meter === null ? reply : measured(this.meter, name, reply);
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * Sends on a shared connection. After a call without a reply in time all others to the same server fail at once, until it
   * replies again: else the waits of one request would add up. In a cluster `args` tell the server.
   */
  guard<T>(call: string, send: (link: Link) => Promise<T>, args: readonly Argument[] = []): Promise<T> {
    const server = this.#silent.size > 0 ? this.#pool.serverOf(call, args) : undefined;
    const silent = server === undefined ? undefined : this.#silent.get(server);
    return silent === undefined ? this.#send(call, send, args) : rejectLater(silent);
  }

  /**
   * Sends on a shared connection. The time is bounded here: ioredis does so for each attempt in a cluster, counts from the sending
   * of an automatic pipeline, which waits for the one before it, and takes the time of a blocked event loop for that of the server.
   */
  #send<T>(call: string, send: (link: Link) => Promise<T>, args: readonly Argument[]): Promise<T> {
    let link: Link;
    try {
      link = this.#pool.choose();
    } catch (error) {
      return rejectLater(error);
    }
    const { epoch } = link;
    return new Promise((resolve, reject) => {
      const stop = timeLimit(this.#commandMs, () => {
        const message = `the key-value store at ${this.#config.address} did not reply to ${call} in time`;
        fail(new KvStoreError("TIMEOUT", message));
      });
      const fail = (error: unknown): void => {
        stop();
        const translated = translateError(error, call, this.#config.address, link.lastError);
        // The reply may still come, or never: then each call after it would get the reply of another.
        if (translated.code === "TIMEOUT") {
          link.renew(epoch, translated);
          const server = this.#pool.serverOf(call, args);
          if (server !== undefined && !this.#silent.has(server)) void this.#awaitReply(server);
        }
        reject(translated);
      };
      send(link).then((reply) => {
        stop();
        resolve(reply);
      }, fail);
    });
  }

  async #awaitReply(server: string): Promise<void> {
    const address = this.clustered ? server : this.#config.address;
    this.#silent.set(server, new KvStoreError("UNREACHABLE", `the key-value store at ${address} does not reply`));
    while (!this.#closed) {
      const node = this.#pool.node(server);
      // ioredis has given up the connection: the next call makes another, or goes to the server that has taken over.
      if (this.clustered && node === undefined) break;
      const ask = ({ client }: Link): Promise<unknown> => invoke(node ?? client, "ping", [], false) as Promise<unknown>;
      const reply = this.#send("ping", ask, []);
      // A refusal is a reply too: the account may not be allowed to ping.
      const isReply = (error: unknown): boolean => error instanceof KvStoreError && error.code === "REFUSED";
      if (await reply.then(() => true, isReply)) break;
      await new Promise((resolve) => setTimeout(resolve, askAgainAfter).unref());
    }
    this.#silent.delete(server);
  }

  #translated<T>(call: string, link: Link, reply: Promise<T>): Promise<T> {
    return reply.catch((error: unknown) => {
      throw translateError(error, call, this.#config.address, link.lastError);
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
