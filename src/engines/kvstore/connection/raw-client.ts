import { createRequire } from "node:module";
import { backoff } from "../../../kit/time/backoff.js";
import { milliseconds } from "../../../kit/time/duration.js";
import { type KvStoreConfig, readNode } from "../config.js";
import type { Ioredis } from "../load-ioredis.js";

/** An argument of a command. */
export type Argument = string | number | Uint8Array;

/** The part of ioredis that the store uses: a connection to a server, or the connections to a cluster. */
export interface RawClient {
  readonly status: string;
  /** The socket of a connection; a cluster itself has none. */
  readonly stream?: { destroy(reason: Error): void };
  readonly options?: { readonly host?: string; readonly port?: number };
  connect(): Promise<void>;
  disconnect(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
  multi(): RawBatch;
  pipeline(): RawBatch;
  /** The nodes of a cluster. */
  nodes?(role: "master" | "all"): RawClient[];
  /** The servers of each slot of a cluster as `host:port`, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
}

/** Calls that are sent together. */
export interface RawBatch {
  exec(): Promise<[error: Error | null, reply: unknown][] | null>;
}

/** Calls a command by its name in lower case, for text or for bytes; on a batch it is added. */
export function invoke(target: RawClient | RawBatch, name: string, args: readonly Argument[], bytes: boolean): unknown {
  const commands = target as unknown as Record<string, (args: readonly Argument[]) => unknown>;
  // Not `callBuffer`: the automatic pipeline of ioredis 6.0 loses the name of the command there.
  return commands[bytes ? `${name}Buffer` : name]!(args);
}

/**
 * - shared: for calls of all requests
 * - blocking: for one call at a time that waits on the server
 * - subscriber: for messages of channels
 */
export type ClientKind = "shared" | "blocking" | "subscriber";

/** Scripts cost 1.4 to 1.6 times the CPU when they are pipelined automatically; a batch that is open must not wait. */
const neverAutoPipelined = ["eval", "evalsha", "multi", "exec", "ping"];

/** Makes a client that does not connect yet: of the store, or of one server of a cluster. */
export function createRawClient(
  { Redis, Cluster }: Ioredis,
  config: KvStoreConfig,
  kind: ClientKind,
  server = config.clusterMode ? null : config.servers[0]!,
): RawClient {
  installContainment();
  const { username, password, database, tls } = config;
  const commandTimeout = milliseconds(config.commandTimeout);
  const connectTimeout = milliseconds(config.connectTimeout);
  const bounded = kind === "shared";
  const connection = {
    [contained]: true as const,
    connectTimeout,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls !== null && { tls: { ...tls } as object }),
    ...(kind === "subscriber" && { commandTimeout }),
    // Replies have one shape only then, and older servers know it too.
    protocol: 2 as const,
    maxLoadingRetryTime: connectTimeout,
    // Nothing is sent twice on its own: the server may have executed a call whose reply was lost.
    autoResendUnfulfilledCommands: false,
  };
  if (server !== null) {
    const options = {
      ...connection,
      ...(config.sentinels.length === 0 ? server : sentinelsOf(config, connectTimeout)),
      db: database,
      lazyConnect: true,
      // Calls that wait for a reply fail when their connection breaks, and those that wait for a connection when it
      // cannot be made.
      maxRetriesPerRequest: 0,
      // A subscriber looks for another server of the cluster, and subscribes again by itself.
      retryStrategy: kind === "subscriber" ? null : pauseBefore,
      // After a failover behind one name the old master is a replica: a new connection leads to the new one.
      reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
      enableAutoPipelining: bounded,
      autoPipeliningIgnoredCommands: neverAutoPipelined,
    } satisfies import("ioredis").RedisOptions & { [contained]: true };
    return new Redis(options) as RawClient;
  }
  // Calls are bounded by their runner, which leaves out a blocked event loop. In a cluster the connections are left to ioredis:
  // one to a server that no longer responds is given up, so that the next calls fail at once.
  const limits = bounded && { commandTimeout, socketTimeout: commandTimeout + 1000 };
  const options = {
    lazyConnect: true,
    // Measured with a master that is killed under load: see docs/kvstore.md.
    redisOptions: { ...connection, ...limits, maxRetriesPerRequest: 1 },
    slotsRefreshTimeout: Math.min(connectTimeout, 1000),
    slotsRefreshInterval: 15_000,
    clusterRetryStrategy: pauseBefore,
  } satisfies import("ioredis").ClusterOptions;
  return new Cluster([...config.servers], options) as RawClient;
}

/** The Sentinels are asked for the master at each connection, and tell of another one while it lasts. */
function sentinelsOf({ sentinels, master, sentinelPassword, tls }: KvStoreConfig, connectTimeout: number) {
  return {
    sentinels: sentinels.map(readNode),
    name: master,
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls !== null && { enableTLSForSentinelMode: true, sentinelTLS: { ...tls } as object }),
    sentinelCommandTimeout: connectTimeout,
    sentinelReconnectStrategy: pauseBefore,
    sentinelRetryStrategy: pauseBefore,
    failoverDetector: true,
  } satisfies import("ioredis").RedisOptions;
}

/** A place to connect to. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Milliseconds before the next attempt to connect: at most one second, half of it random. */
export function pauseBefore(attempt: number): number {
  return Math.round(backoff(attempt, 50, 1000));
}

interface DataHandler {
  readonly redis: { readonly options?: { readonly [contained]?: true } };
  dispatch(run: () => void): void;
  returnFatalError(error: unknown): void;
}

/** The option that marks our clients; duplicates of a client have it too. */
const contained = "stoaContained";

let installed = false;

/**
 * Contains errors in the handling of replies to their connection. ioredis 6 throws them in a separate tick, where
 * no code can catch them: a reply of null to no call, which a broken server or proxy can send, would end the process. The
 * connection is given up instead. Other clients of ioredis in the process stay as they are.
 */
function installContainment(): void {
  if (installed) return;
  installed = true;
  let prototype: DataHandler;
  try {
    const module = createRequire(import.meta.url)("ioredis/built/DataHandler.js") as {
      readonly default: { readonly prototype: DataHandler };
    };
    prototype = module.default.prototype;
  } catch {
    // Another version with other files: tests of this one would show it.
    return;
  }
  const { dispatch } = prototype;
  prototype.dispatch = function (this: DataHandler, run) {
    if (this.redis.options?.[contained] !== true) return dispatch.call(this, run);
    try {
      run();
    } catch (error) {
      this.returnFatalError(error);
    }
    return undefined;
  };
}
