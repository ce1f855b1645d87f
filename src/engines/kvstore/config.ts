import { config, type OptionsOf, option, options } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { inspectSymbol } from "../../kit/node-modules.js";
import { type Check, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { overruled } from "../overruled.js";
import { tlsFields } from "../tls-options.js";
import { parseKvUrl } from "./url.js";

const nameFields = {
  /** The name that the server's certificate must hold. Default: the host. */
  servername: option(is.text),
};

const tlsOptions = options("option 'tls' of KvStoreConfig", { ...tlsFields, ...nameFields });

/** TLS of the connections. Certificates and keys are PEM texts, not paths. */
export interface KvTlsOptions extends OptionsOf<typeof tlsFields & typeof nameFields> {}

const nodePattern = /^(\[[\da-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i;

const isNode: Check<string> = (value) => {
  const port = typeof value === "string" ? Number(nodePattern.exec(value)?.[2] ?? 0) : 0;
  return port >= 1 && port <= 65_535 ? undefined : "an address: host:port";
};

/** The place of the key-value store and the way to use it. A field wins over the same in the URL. */
export class KvStoreConfig extends config(
  "KvStoreConfig",
  {
    /** `redis://user:password@host:6379/0`; with TLS `rediss://`. Default `redis://127.0.0.1:6379`. */
    url: option.secret(is.text, String, "redis://127.0.0.1:6379"),
    /** Connections of this process; in a cluster to each node. Default 2. */
    poolSize: option(is.integer(1, 1000), 2),
    /** True for a cluster. Default false. */
    clusterMode: option(is.boolean, false),
    /** Nodes of the cluster to begin with, beside that of the URL: `["10.0.0.1:6379", "10.0.0.2:6379"]`. */
    nodes: option(is.list(isNode), []),
    /**
     * The Sentinels that know the master: `["10.0.0.1:26379", "10.0.0.2:26379"]`. Of the URL only user, password, database
     * and TLS count then.
     */
    sentinels: option(is.list(isNode), []),
    /** The name that the Sentinels have for the master. Default `mymaster`. */
    master: option(is.text, "mymaster"),
    /** The password of the Sentinels. Default none. */
    sentinelPassword: option.secret(is.text),
    /** Put before every key and channel: `shop:`. Default none. */
    prefix: option(is.string, "", "none"),
    /** Time that one call may take. Default 2 seconds. */
    commandTimeout: option.duration("2s", "1ms", "24d"),
    /** Time to wait for a connection, and for the server at the start. Default 5 seconds. */
    connectTimeout: option.duration("5s", "1ms", "24d"),
    /**
     * True if the application must not start or be ready without the store. Default false: limits and cache work without
     * it, and requests that need it get 503.
     */
    required: option(is.boolean, false),
    /** The name of the user (ACL) to log in as. Default: that of the URL. */
    username: option(is.text),
    /** The password of the user. Default: that of the URL. */
    password: option.secret(is.text),
    /** The number of the database; a cluster has only 0. Default 0. */
    database: option(is.integer(0, 99_999), 0),
    /** TLS, or true for TLS with Node's own authorities. Default: from the URL. */
    tls: option.secret(is.either<[boolean, EitherSpelling<KvTlsOptions>]>(is.boolean, is.object), readTls, null),
  },
  {
    order: ["url", "poolSize", "clusterMode"],
    refine(settings, given) {
      const { clusterMode } = settings;
      const url = parseKvUrl(settings.url);
      const { username = url.username, password = url.password, database = url.database ?? 0 } = given;
      if (given.tls === null && url.secure) {
        throw new ValueError("option 'tls' in KvStoreConfig is false, but the URL asks for TLS");
      }
      if (clusterMode && database !== 0) {
        throw new ValueError("option 'database' in KvStoreConfig must be 0 in cluster mode");
      }
      if (!clusterMode && settings.nodes.length > 0) {
        throw new ValueError("option 'nodes' in KvStoreConfig goes with clusterMode only");
      }
      const { sentinels, master, sentinelPassword } = given;
      if (clusterMode && settings.sentinels.length > 0) {
        throw new ValueError("option 'sentinels' in KvStoreConfig cannot be used with clusterMode");
      }
      if ((master ?? sentinelPassword) !== undefined && (sentinels ?? []).length === 0) {
        const name = master === undefined ? "sentinelPassword" : "master";
        throw new ValueError(`option '${name}' in KvStoreConfig goes with sentinels only`);
      }
      if (username !== undefined && password === undefined) {
        throw new ValueError("option 'username' in KvStoreConfig needs a password");
      }
      return { username, password, database, tls: settings.tls ?? (url.secure ? {} : null) };
    },
  },
) {
  /** The servers to connect to; without a cluster it is one, which Sentinels replace. */
  readonly servers = [parseKvUrl(this.url), ...this.nodes.map(readNode)].map(({ host, port }) => ({ host, port }));

  /** @internal A sentence for each part of the URL that an option overrules. */
  overruled(): string[] {
    const { username, password, database } = parseKvUrl(this.url);
    return overruled("KvStoreConfig", { username, password, database }, this);
  }

  /** The place of the store, fit for a log: without user and password. */
  get address(): string {
    const servers = this.servers.map(({ host, port }) =>
      host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    );
    const place =
      this.sentinels.length === 0 ? servers : [`${this.master} of the Sentinels ${this.sentinels.join(", ")}`];
    const path = this.database === 0 ? "" : `/${this.database}`;
    return `${place.join(", ")}${path}${this.tls === null ? "" : " with TLS"}`;
  }

  [inspectSymbol](): string {
    return `KvStoreConfig { ${this.address}, poolSize: ${this.poolSize}, clusterMode: ${this.clusterMode} }`;
  }
}

export interface KvStoreOptions extends OptionsOf<typeof KvStoreConfig.options.fields> {}

function readTls(given: boolean | EitherSpelling<KvTlsOptions>): KvTlsOptions | null {
  if (typeof given === "boolean") return given ? {} : null;
  const tls = tlsOptions.readGiven([given]);
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ValueError("option 'tls' of KvStoreConfig needs both 'cert' and 'key', or neither");
  }
  return tls;
}

export function readNode(node: string): { host: string; port: number } {
  const [, host = "", port] = nodePattern.exec(node)!;
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
