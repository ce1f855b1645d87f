import type { Logger } from "../../kit/logger.js";
import { milliseconds } from "../../kit/time/duration.js";
import type { Tracer } from "../../kit/tracer.js";
import { pipeline, type Replies, transaction } from "./batch.js";
import { KvCommands } from "./commands/commands.js";
import type { KvStoreConfig } from "./config.js";
import { BlockingLinks } from "./connection/blocking.js";
import { LinkPool } from "./connection/pool.js";
import { type CallMeter, PoolRunner } from "./connection/pool-runner.js";
import { invoke } from "./connection/raw-client.js";
import type { Ioredis } from "./load-ioredis.js";
import { freeLock, type KvLock, type LockOptions, type LockScripts, renewLock, takeLock, withLock } from "./lock.js";
import { type ScanOptions, scanKeys } from "./scan.js";
import { KvScript } from "./script.js";
import { type KvSubscription, type MessageHandler, type SubscribeOptions, Subscriptions } from "./subscriptions.js";
import { CallTracer } from "./trace.js";

/** A client of ioredis: with its types installed, `kv.client as Redis`. */
export interface KvClient {
  /** Sends any command: `call("OBJECT", "ENCODING", key)`. */
  call(command: string, ...args: (string | number | Buffer)[]): Promise<unknown>;
}

/** Connections of this process. */
export interface KvStoreStats {
  /** Shared connections, and those of them that are usable. */
  readonly connections: number;
  readonly ready: number;
  /** Connections of calls that wait on the server. */
  readonly blocking: number;
}

/** The key-value store: Redis or Valkey, one server or a cluster. */
export class KvStore extends KvCommands {
  readonly #config: KvStoreConfig;
  readonly #runner: PoolRunner;
  readonly #pool: LinkPool;
  readonly #blocking: BlockingLinks;
  readonly #subscriptions: Subscriptions;
  readonly #locks: LockScripts;

  /** @internal */
  constructor(ioredis: Ioredis, config: KvStoreConfig, logger?: Logger) {
    const pool = new LinkPool(ioredis, config);
    const blocking = new BlockingLinks(ioredis, config);
    const runner = new PoolRunner(config, pool, blocking);
    super(runner);
    this.#config = config;
    this.#runner = runner;
    this.#pool = pool;
    this.#blocking = blocking;
    this.#subscriptions = new Subscriptions(ioredis, config, () => pool.servers(), logger);
    this.#locks = { take: this.script(takeLock), renew: this.script(renewLock), free: this.script(freeLock) };
  }

  /**
   * Sends calls together: `const [name, visits] = await kv.pipeline((p) => [p.get("name"), p.incr("visits")])`. Each
   * stands for itself; the first error of one rejects the whole, and the others have been executed all the same.
   */
  pipeline<const Calls extends readonly unknown[]>(collect: (kv: KvCommands) => Calls): Promise<Replies<Calls>> {
    return pipeline(this.#runner, collect);
  }

  /** Like `pipeline`, but no other client's call comes between. In a cluster all keys must be of one slot: `{user:1}:name`. */
  transaction<const Calls extends readonly unknown[]>(collect: (kv: KvCommands) => Calls): Promise<Replies<Calls>> {
    return transaction(this.#runner, collect);
  }

  /** A Lua script to run often: `const script = kv.script<number>("return redis.call('INCR', KEYS[1])")`. */
  script<T = unknown>(lua: string): KvScript<T> {
    return new KvScript(this.#runner, lua);
  }

  /** @internal */
  bytesScript<T>(lua: string): KvScript<T> {
    return new KvScript(this.#runner, lua, true);
  }

  /** The keys, one by one: `for await (const key of kv.scan({ match: "user:*" }))`. */
  scan(options?: ScanOptions): AsyncGenerator<string, void, undefined> {
    return scanKeys(this.#runner, options);
  }

  /** Calls a function with each message of a channel. */
  subscribe(channel: string, handler: MessageHandler, options?: SubscribeOptions): Promise<KvSubscription> {
    return this.#subscriptions.subscribe("channel", channel, handler, options);
  }

  /** Calls a function with each message of all channels that match: `news:*`. */
  subscribePattern(pattern: string, handler: MessageHandler, options?: SubscribeOptions): Promise<KvSubscription> {
    return this.#subscriptions.subscribe("pattern", pattern, handler, options);
  }

  /** Runs a function while it holds a lock. Rejects with the code `LOCKED` if another holder has it for all of `wait`. */
  lock<T>(key: string, run: (lock: KvLock) => Promise<T> | T): Promise<T>;
  lock<T>(key: string, options: LockOptions, run: (lock: KvLock) => Promise<T> | T): Promise<T>;
  lock<T>(
    key: string,
    first: LockOptions | ((lock: KvLock) => Promise<T> | T),
    second?: (lock: KvLock) => Promise<T> | T,
  ): Promise<T> {
    if (typeof first === "function") return withLock(this.#locks, key, {}, first);
    return withLock(this.#locks, key, first, second!);
  }

  /** A client of ioredis, for everything else. It knows nothing of the prefix. */
  get client(): KvClient {
    return this.#pool.choose().client as unknown as KvClient;
  }

  /** @internal A channel as the server knows it, for scripts that publish. */
  prefixed(channel: string): string {
    return this.#runner.prefix + channel;
  }

  /** True for a cluster. */
  get clustered(): boolean {
    return this.#runner.clustered;
  }

  async ping(): Promise<void> {
    await this.#runner.guard("ping", (link) => invoke(link.client, "ping", [], false) as Promise<unknown>);
  }

  stats(): KvStoreStats {
    return { connections: this.#pool.size, ready: this.#pool.readyCount, blocking: this.#blocking.size };
  }

  /** @internal Begins to report every call to a meter. */
  measure(meter: CallMeter): void {
    this.#runner.meter = meter;
  }

  /** Begins to record every call as a span. @internal */
  trace(tracer: Tracer): void {
    this.#runner.tracer = new CallTracer(tracer, this.#config);
  }

  /** @internal Connects within so many seconds; if that fails, connections are tried until `close`. */
  open(seconds = this.#config.connectTimeout): Promise<void> {
    return this.#pool.open(milliseconds(seconds));
  }

  /** @internal Calls back at each connection that is usable: the server may be another one, or have lost its data. */
  onReady(callback: () => void): void {
    this.#pool.onReady(callback);
  }

  /** Ends all connections; calls that wait fail. */
  async close(): Promise<void> {
    this.#runner.close();
    this.#subscriptions.close();
    this.#blocking.close();
    this.#pool.close();
  }
}
