import type { ConfigOf } from "../../internal/config-of.js";
import { type EitherSpelling, type SnakeCase, snakeCase } from "../../internal/names.js";
import { inspectSymbol } from "../../internal/node-modules.js";
import { type Checks, is, readCall, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { type ParsedKvUrl, parseKvUrl } from "./url.js";

/** TLS of the connections. Certificates and keys are PEM texts, not paths. */
export interface KvTlsOptions {
  /** Certificates of authorities to trust, in place of those of Node. */
  readonly ca?: string | Uint8Array;
  /** A client certificate. */
  readonly cert?: string | Uint8Array;
  /** The key of `cert`. */
  readonly key?: string | Uint8Array;
  /** The name that the server's certificate must hold. Default: the host. */
  readonly servername?: string;
  /** False accepts any certificate: for tests only. Default true. */
  readonly rejectUnauthorized?: boolean;
}

export interface KvStoreOptions {
  /** `redis://user:password@host:6379/0`; with TLS `rediss://`. Default `redis://127.0.0.1:6379`. */
  url?: string;
  /** Connections of this process; in a cluster to each node. Default 2. */
  poolSize?: number;
  /** True for a cluster. Default false. */
  clusterMode?: boolean;
  /** Nodes of the cluster to begin with, beside that of the URL: `["10.0.0.1:6379", "10.0.0.2:6379"]`. */
  nodes?: readonly string[];
  /** Put before every key and channel: `shop:`. Default none. */
  prefix?: string;
  /** Milliseconds that one call may take. Default 2000. */
  commandTimeout?: number;
  /** Milliseconds to wait for a connection, and for the server at the start. Default 5000. */
  connectTimeout?: number;
  /** TLS, or true for TLS with Node's own authorities. */
  tls?: EitherSpelling<KvTlsOptions> | boolean;
  /** The name of the user (ACL) to log in as. Default: that of the URL. */
  username?: string;
  /** The password of the user. Default: that of the URL. */
  password?: string;
  /** The number of the database; a cluster has only 0. Default 0. */
  database?: number;
}

type Settings = Required<Omit<KvStoreOptions, OptionalField | "tls">> & Pick<KvStoreOptions, OptionalField>;
type OptionalField = "username" | "password";

const pem = is.either(is.text, (value) => (value instanceof Uint8Array ? undefined : "bytes"));
const milliseconds = is.integer(1, 2_147_483_647);

const checks: Checks<KvStoreOptions> = {
  // Checked separately, like the password: the message of a failed check shows the value.
  url: is.anything,
  poolSize: is.integer(1, 1000),
  clusterMode: is.boolean,
  nodes: is.list((node) => (isNode(node) ? undefined : "an address: host:port")),
  prefix: is.string,
  commandTimeout: milliseconds,
  connectTimeout: milliseconds,
  tls: is.either(is.boolean, is.object),
  username: is.text,
  password: is.anything,
  database: is.integer(0, 99_999),
};

const tlsChecks: Checks<KvTlsOptions> = {
  ca: pem,
  cert: pem,
  key: (value) => (pem(value) === undefined ? undefined : "a non-empty string, or bytes"),
  servername: is.text,
  rejectUnauthorized: is.boolean,
};

const defaults = {
  url: "redis://127.0.0.1:6379",
  poolSize: 2,
  clusterMode: false,
  nodes: [],
  prefix: "",
  commandTimeout: 2000,
  connectTimeout: 5000,
} as const satisfies KvStoreOptions;

const contractOrder = ["url", "poolSize", "clusterMode"] as const;

/** The place of the key-value store and the way to use it. A field wins over the same in the URL. */
export class KvStoreConfig {
  /** Null without TLS. */
  readonly tls: KvTlsOptions | null;
  /** The servers to connect to; without a cluster it is one. */
  readonly servers: readonly { readonly host: string; readonly port: number }[];

  constructor(
    ...given: [
      urlOrOptions?: string | EitherSpelling<KvStoreOptions> | null,
      poolSize?: number | null,
      clusterMode?: boolean | null,
    ]
  ) {
    const options = readCall<KvStoreOptions>("KvStoreConfig", given, contractOrder, checks);
    for (const secret of ["url", "password"] as const) {
      const value: unknown = options[secret];
      if (value !== undefined && (typeof value !== "string" || value === "")) {
        throw new ValueError(`option '${secret}' in KvStoreConfig must be a non-empty string`);
      }
    }
    const url = parseKvUrl(options.url ?? defaults.url);
    const { username, password, database } = url;
    this.tls = readTls(options.tls, url);
    Object.assign(this, {
      ...defaults,
      username,
      password,
      database: database ?? 0,
      ...withoutTls(options),
    });
    this.servers = [{ host: url.host, port: url.port }, ...this.nodes.map(readNode)];
    for (const secret of ["url", "password", "tls"] as const) {
      Object.defineProperty(this, secret, { value: this[secret], enumerable: false });
    }
    if (this.clusterMode && this.database !== 0) {
      throw new ValueError("option 'database' in KvStoreConfig must be 0 in cluster mode");
    }
    if (!this.clusterMode && this.nodes.length > 0) {
      throw new ValueError("option 'nodes' in KvStoreConfig goes with clusterMode only");
    }
    if (this.username !== undefined && this.password === undefined) {
      throw new ValueError("option 'username' in KvStoreConfig needs a password");
    }
  }

  /** Takes a config, its fields, a URL, or nothing for the defaults. */
  static from(given?: ConfigOf<"KvStoreConfig"> | EitherSpelling<KvStoreOptions> | string | null): KvStoreConfig {
    if (given instanceof KvStoreConfig) return given;
    return typeof given === "string"
      ? new KvStoreConfig(given)
      : new KvStoreConfig((given ?? {}) as EitherSpelling<KvStoreOptions>);
  }

  /** The place of the store, fit for a log: without user and password. */
  get address(): string {
    const servers = this.servers.map(({ host, port }) =>
      host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    );
    const path = this.database === 0 ? "" : `/${this.database}`;
    return `${servers.join(", ")}${path}${this.tls === null ? "" : " with TLS"}`;
  }

  [inspectSymbol](): string {
    return `KvStoreConfig { ${this.address}, poolSize: ${this.poolSize}, clusterMode: ${this.clusterMode} }`;
  }
}
export interface KvStoreConfig extends Readonly<Settings>, Readonly<SnakeFields>, ConfigOf<"KvStoreConfig"> {}

type SnakeFields = { [K in keyof Settings as K extends string ? SnakeCase<K> : never]: Settings[K] };

for (const name of Object.keys(checks) as (keyof Settings)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(KvStoreConfig.prototype, contract, {
    get(this: KvStoreConfig) {
      return this[name];
    },
  });
}

function withoutTls({ tls: _tls, ...options }: Partial<KvStoreOptions>): Partial<KvStoreOptions> {
  return options;
}

function readTls(given: KvStoreOptions["tls"], { secure }: ParsedKvUrl): KvTlsOptions | null {
  if (given === false && secure)
    throw new ValueError("option 'tls' in KvStoreConfig is false, but the URL asks for TLS");
  if (given === undefined || typeof given === "boolean") return given === true || secure ? {} : null;
  const tls = readOptions<KvTlsOptions>("option 'tls' of KvStoreConfig", given, tlsChecks);
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ValueError("option 'tls' of KvStoreConfig needs both 'cert' and 'key', or neither");
  }
  return tls;
}

const nodePattern = /^(\[[\da-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i;

function isNode(value: unknown): boolean {
  const port = typeof value === "string" ? Number(nodePattern.exec(value)?.[2] ?? 0) : 0;
  return port >= 1 && port <= 65_535;
}

function readNode(node: string): { host: string; port: number } {
  const [, host = "", port] = nodePattern.exec(node)!;
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
