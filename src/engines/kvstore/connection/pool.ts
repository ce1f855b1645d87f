import { milliseconds } from "../../../kit/time/duration.js";
import { within } from "../../../kit/time/within.js";
import type { KvStoreConfig } from "../config.js";
import type { Ioredis } from "../load-ioredis.js";
import { isHopeless, partOfCluster } from "../translate-error.js";
import { closedError, Link } from "./link.js";
import { type Argument, createRawClient, invoke, type RawClient, type ServerAddress } from "./raw-client.js";

/** The connections that all calls share. */
export class LinkPool {
  readonly #ioredis: Ioredis;
  readonly #config: KvStoreConfig;
  readonly #links: readonly Link[];
  #next = 0;
  #current: Link | null = null;

  constructor(ioredis: Ioredis, config: KvStoreConfig) {
    this.#ioredis = ioredis;
    this.#config = config;
    const count = config.poolSize;
    this.#links = Array.from(
      { length: count },
      () =>
        new Link(
          createRawClient(ioredis, config, "shared"),
          config.address,
          milliseconds(config.commandTimeout) + 1000,
        ),
    );
    for (const link of this.#links) link.keepAlive();
  }

  get size(): number {
    return this.#links.length;
  }

  get readyCount(): number {
    return this.#links.filter((link) => link.ready).length;
  }

  /** All known servers: those of the config, and those that a cluster reported. */
  servers(): ServerAddress[] {
    const known = new Map(this.#config.servers.map((server) => [`${server.host}:${server.port}`, server]));
    for (const { options } of this.#links[0]?.client.nodes?.("all") ?? []) {
      const { host, port } = options ?? {};
      if (host !== undefined && port !== undefined) known.set(`${host}:${port}`, { host, port });
    }
    return [...known.values()];
  }

  /** The server that a call goes to: "" for the only one, undefined if a cluster decides it without a key. */
  serverOf(call: string, args: readonly Argument[]): string | undefined {
    if (!this.#config.clusterMode) return "";
    const slot = new this.#ioredis.Command(call, args as (string | number | Buffer)[]).getSlot();
    return slot === null ? undefined : this.#links[0]?.client.slots?.[slot]?.[0];
  }

  /** The connection to one server of a cluster; undefined if it is no part of it, or has none. */
  node(server: string): RawClient | undefined {
    const nodes = this.#links[0]?.client.nodes?.("all") ?? [];
    return nodes.find(({ options }) => `${options?.host}:${options?.port}` === server);
  }

  onReady(callback: () => void): void {
    for (const { client } of this.#links) client.on("ready", callback);
  }

  /** Connects, or keeps connecting when the time is up. */
  async open(milliseconds: number): Promise<void> {
    const reason = this.#config.clusterMode ? await this.#tryServers(milliseconds) : null;
    const results = await Promise.allSettled(this.#links.map((link) => link.open(milliseconds)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw reason ?? failed.reason;
    if (!this.#config.clusterMode) await this.#refuseCluster();
  }

  /** Without `clusterMode` each key of another server would fail with MOVED. A cluster of one server has all keys. */
  async #refuseCluster(): Promise<void> {
    const asked = invoke(this.#links[0]!.client, "cluster", ["info"], false) as Promise<unknown>;
    // A server without a cluster refuses the call.
    const info = await within(
      asked.catch(() => ""),
      milliseconds(this.#config.commandTimeout),
    );
    const [, size = 0] = /^cluster_size:(\d+)/m.exec(String(info)) ?? [];
    if (Number(size) > 1) throw partOfCluster(this.#config.address);
  }

  /**
   * Connects to one server of the cluster. A cluster client says only that no server is available: here is the reason,
   * and a wrong password is known at once. Returns the reason, or null.
   */
  async #tryServers(milliseconds: number): Promise<unknown> {
    const config = this.#config;
    const links = config.servers.map((server) => {
      const address = `${server.host}:${server.port}`;
      return new Link(createRawClient(this.#ioredis, config, "shared", server), address);
    });
    try {
      await Promise.any(links.map((link) => link.open(milliseconds)));
      return null;
    } catch (error) {
      const reason: unknown = error instanceof AggregateError ? error.errors[0] : error;
      if (isHopeless(reason)) throw reason;
      return reason;
    } finally {
      for (const link of links) link.close();
    }
  }

  /**
   * The connection for the next call. Calls of one turn of the event loop take the same one: they keep their order, and
   * are sent together. Throws if no server could be reached when it was last tried.
   */
  choose(): Link {
    if (this.#current?.ready) return this.#current;
    const link = this.#ready() ?? this.#waiting();
    this.#current = link;
    queueMicrotask(this.#turn);
    return link;
  }

  close(): void {
    for (const link of this.#links) link.close();
  }

  readonly #turn = (): void => {
    this.#current = null;
  };

  #ready(): Link | undefined {
    const links = this.#links;
    for (let i = 0; i < links.length; i++) {
      const link = links[(this.#next + i) % links.length]!;
      if (!link.ready) continue;
      this.#next = (this.#next + i + 1) % links.length;
      return link;
    }
    return undefined;
  }

  /** A connection that is being made. */
  #waiting(): Link {
    const link = this.#links.find(({ down }) => down === null);
    if (link === undefined) throw this.#links[0]?.down ?? closedError();
    return link;
  }
}
