import { milliseconds } from "../../../kit/time/duration.js";
import { within } from "../../../kit/time/within.js";
import type { KvStoreConfig } from "../config.js";
import { KvStoreError } from "../errors.js";
import type { Ioredis } from "../load-ioredis.js";
import { closedError, Link } from "./link.js";
import { createRawClient } from "./raw-client.js";

/** Blocking calls of one process at a time. Each holds its own connection. */
const maxBlocking = 100;

/** Connections for calls that wait on the server: they would hold up all others. Idle ones are kept for the next call. */
export class BlockingLinks {
  readonly #ioredis: Ioredis;
  readonly #config: KvStoreConfig;
  readonly #busy = new Set<Link>();
  readonly #idle: Link[] = [];
  #closed = false;

  constructor(ioredis: Ioredis, config: KvStoreConfig) {
    this.#ioredis = ioredis;
    this.#config = config;
  }

  get size(): number {
    return this.#busy.size + this.#idle.length;
  }

  /**
   * Runs one call. `blockMs` is the time that the server may wait; the reply may take the time of any other call
   * longer. The end of the signal breaks the connection, which ends the call on the server too.
   */
  async run<T>(blockMs: number, signal: AbortSignal | undefined, send: (link: Link) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#closed) throw closedError();
    if (this.#busy.size >= maxBlocking) {
      throw new KvStoreError("BUSY", `more than ${maxBlocking} blocking calls of the key-value store at a time`);
    }
    const link =
      this.#idle.pop() ?? new Link(createRawClient(this.#ioredis, this.#config, "blocking"), this.#config.address);
    this.#busy.add(link);
    let sound = false;
    const late = (): never => {
      const { address } = this.#config;
      throw new KvStoreError("TIMEOUT", `the key-value store at ${address} did not reply to a blocking call in time`);
    };
    const connectMs = milliseconds(this.#config.connectTimeout);
    const limit = blockMs + milliseconds(this.#config.commandTimeout) + connectMs;
    try {
      const call = link.open(connectMs).then(() => send(link));
      const reply = await within(call, limit, late, ...(signal === undefined ? [] : [signal]));
      sound = true;
      return reply;
    } finally {
      this.#busy.delete(link);
      if (sound && !this.#closed && this.#idle.length < this.#config.poolSize) this.#idle.push(link);
      else link.close();
    }
  }

  close(): void {
    this.#closed = true;
    for (const link of [...this.#busy, ...this.#idle]) link.close();
    this.#idle.length = 0;
  }
}
