import type { ConfigOf } from "../../internal/config-of.js";
import { camelCase, type EitherSpelling, type SnakeCase, snakeCase } from "../../internal/names.js";
import { inspectSymbol } from "../../internal/node-modules.js";
import { type Checks, checkOption, is, readCall } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { isQueryLog, type QueryLogOptions, readQueryLog } from "./log/options.js";
import { authMethods, parseRequireAuth } from "./require-auth.js";
import { type Host, type ParsedUrl, parseDatabaseUrl } from "./url.js";

/** As in libpq: the need for TLS, and the checks of the certificate. */
export type SslMode = "disable" | "allow" | "prefer" | "require" | "verify-ca" | "verify-full";

/** As in libpq: a session that accepts changes or does not, a primary or a standby server. */
export type TargetSessionAttrs = "any" | "read-write" | "read-only" | "primary" | "standby" | "prefer-standby";

export interface DatabaseOptions {
  /** `postgres://user:password@host:5432/database?sslmode=require`, `pglite:` or `pglite:./folder`. */
  url?: string;
  /** The most connections that are open at a time; 10 unless given. */
  poolSize?: number;
  /** The need for TLS and the checks of the certificate, as in libpq. Default "prefer". */
  sslmode?: SslMode;
  /** A file of certificates to trust, or `system` for those of the operating system. */
  sslrootcert?: string;
  /** The file of a client certificate. */
  sslcert?: string;
  /** The file of the key of `sslcert`. */
  sslkey?: string;
  /**
   * The ways of authentication that a server may ask for, as in libpq: `scram-sha-256`, `md5`, `password` (clear text) and
   * `none`, separated by commas; or, with an exclamation mark each, those that it may not ask for.
   */
  requireAuth?: string;
  /** SCRAM bound to the TLS connection: `prefer` where the server offers it (default), `require`, or `disable`. */
  channelBinding?: "disable" | "prefer" | "require";
  /** A name, an address, or the folder of a Unix socket; several, separated by commas, are tried in turn. */
  host?: string;
  /** The port of the server. Default 5432. */
  port?: number;
  /** The name of the role to log in as. */
  user?: string;
  /** A function is called for each new connection: for tokens that expire. */
  password?: string | (() => string | Promise<string>);
  /** The name of the database. */
  database?: string;
  /** As in libpq: the kind of server to look for, among several hosts or behind one name; `any` unless given. */
  targetSessionAttrs?: TargetSessionAttrs;
  /** The name of this program in the views of the server. Default "stoa". */
  applicationName?: string;
  /** Milliseconds to wait for a new connection, and for the database at the start; 5000 unless given. */
  connectTimeout?: number;
  /** Milliseconds that a call may wait for a free connection; 4000 unless given. */
  acquireTimeout?: number;
  /** Milliseconds that one statement may run; 30000 unless given, 0 for no limit. */
  statementTimeout?: number;
  /** Milliseconds after which a connection without work is closed; 60000 unless given, 0 for never. One always stays. */
  idleTimeout?: number;
  /**
   * Milliseconds after which a connection is replaced by a new one, give or take a tenth; 1800000 (30 minutes) unless
   * given, 0 for never. A database that has moved is found again by then.
   */
  maxLifetime?: number;
  /**
   * Logs every statement with its duration, its rows and its request, slow ones as warnings; false unless given. An object
   * has the options.
   */
  logQueries?: boolean | EitherSpelling<QueryLogOptions>;
  /**
   * URLs of servers that follow this one. Reads of requests outside of transactions go to them until the request writes.
   * Other fields and missing parts of a URL are those of this server.
   */
  replicas?: readonly string[];
  /** Milliseconds that a replica may be behind, measured to about a second; 0 for no limit, unless given. */
  maxReplicaLag?: number;
  /** False for a pooler between here and the server that gives each transaction another session (PgBouncer). */
  preparedStatements?: boolean;
}

type Settings = Required<Omit<DatabaseOptions, OptionalField>> & Pick<DatabaseOptions, OptionalField>;
type OptionalField = "url" | "requireAuth" | "sslrootcert" | "sslcert" | "sslkey" | "user" | "password" | "database";

const milliseconds = is.integer(0, 2_147_483_647);

const checks: Checks<DatabaseOptions> = {
  url: is.text,
  poolSize: is.integer(1, 10_000),
  sslmode: is.oneOf("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
  sslrootcert: is.text,
  sslcert: is.text,
  sslkey: is.text,
  requireAuth: requireAuthCheck,
  channelBinding: is.oneOf("disable", "prefer", "require"),
  host: is.text,
  port: is.integer(1, 65_535),
  user: is.text,
  // Checked separately: the message of a failed check shows the value.
  password: is.anything,
  database: is.text,
  targetSessionAttrs: is.oneOf("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
  applicationName: is.text,
  connectTimeout: is.integer(1, 2_147_483_647),
  acquireTimeout: is.integer(1, 2_147_483_647),
  statementTimeout: milliseconds,
  idleTimeout: milliseconds,
  maxLifetime: milliseconds,
  logQueries: isQueryLog,
  // Checked separately, as they may have passwords in them.
  replicas: is.anything,
  maxReplicaLag: milliseconds,
  preparedStatements: is.boolean,
};

const defaults = {
  poolSize: 10,
  sslmode: "prefer",
  channelBinding: "prefer",
  host: "localhost",
  port: 5432,
  targetSessionAttrs: "any",
  applicationName: "stoa",
  connectTimeout: 5000,
  acquireTimeout: 4000,
  statementTimeout: 30_000,
  idleTimeout: 60_000,
  maxLifetime: 1_800_000,
  logQueries: false,
  replicas: [],
  maxReplicaLag: 0,
  preparedStatements: true,
} as const satisfies Partial<DatabaseOptions>;

function requireAuthCheck(value: unknown): string | undefined {
  if (typeof value === "string" && parseRequireAuth(value) !== null) return undefined;
  return `a list of ${authMethods.join(", ")}, separated by commas, all or none of them with a '!'`;
}

const contractOrder = ["url", "poolSize", "sslmode", "sslrootcert"] as const;

/** The place of the database and its options. A field wins over the same one in the URL. */
export class DatabaseConfig {
  readonly engine: "postgres" | "pglite";
  /** The folder of an embedded database; null for one in memory, or for a server. */
  readonly folder: string | null;
  /** The servers in the order in which they are tried; usually one. */
  readonly hosts: readonly Host[];
  /** The replicas, each with all of its options. */
  readonly replicaConfigs: readonly DatabaseConfig[];

  constructor(
    ...given: [
      urlOrOptions: string | EitherSpelling<DatabaseOptions>,
      poolSize?: number,
      sslmode?: SslMode,
      sslrootcert?: string,
    ]
  ) {
    const options = readCall<DatabaseOptions>("DatabaseConfig", given, contractOrder, checks);
    if (
      options.password !== undefined &&
      typeof options.password !== "string" &&
      typeof options.password !== "function"
    ) {
      throw new ValueError("option 'password' in DatabaseConfig must be a string or a function");
    }
    const parsed = options.url === undefined ? emptyUrl : parseDatabaseUrl(options.url);
    const fromUrl = readCall<DatabaseOptions>("the query of the database URL", [parsed.options], [], checks);
    this.engine = parsed.engine;
    this.folder = parsed.folder;
    const merged = { ...defaults, ...environment(parsed.engine), ...fromUrl, ...options };
    this.hosts = hostsOf(merged, options, parsed);
    Object.assign(this, merged, this.hosts[0]);
    readQueryLog(merged.logQueries);
    this.replicaConfigs = replicaConfigs(merged, parsed.engine);
    for (const secret of ["url", "password", "replicas", "replicaConfigs"] as const) {
      Object.defineProperty(this, secret, { value: this[secret], enumerable: false });
    }
  }

  /** Takes a config, its fields or a URL. */
  static from(given: ConfigOf<"DatabaseConfig"> | EitherSpelling<DatabaseOptions> | string): DatabaseConfig {
    if (given instanceof DatabaseConfig) return given;
    return typeof given === "string"
      ? new DatabaseConfig(given)
      : new DatabaseConfig(given as EitherSpelling<DatabaseOptions>);
  }

  /** The place of the database for logs: without user and password. */
  get address(): string {
    if (this.engine === "pglite") return this.folder === null ? "PGlite in memory" : `PGlite in ${this.folder}`;
    const where = this.hosts.map(addressOf).join(",");
    return this.database === undefined ? where : `${where}/${this.database}`;
  }

  [inspectSymbol](): string {
    return `DatabaseConfig { ${this.address}, poolSize: ${this.poolSize}, sslmode: '${this.sslmode}' }`;
  }
}
export interface DatabaseConfig extends Readonly<Settings>, Readonly<SnakeFields>, ConfigOf<"DatabaseConfig"> {}

type SnakeFields = { [K in keyof Settings as K extends string ? SnakeCase<K> : never]: Settings[K] };

for (const name of Object.keys(checks) as (keyof DatabaseOptions)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(DatabaseConfig.prototype, contract, {
    get(this: DatabaseConfig) {
      return this[name];
    },
  });
}

/** The configuration of each replica: its URL, and for all else that of the primary. */
function replicaConfigs(
  { replicas, ...primary }: Partial<DatabaseOptions>,
  engine: DatabaseConfig["engine"],
): readonly DatabaseConfig[] {
  if (!Array.isArray(replicas) || replicas.some((url) => typeof url !== "string"))
    throw new ValueError("option 'replicas' in DatabaseConfig must be a list of URLs");
  if (replicas.length > 0 && engine === "pglite")
    throw new ValueError("option 'replicas' in DatabaseConfig is for servers: an embedded database has none");
  return replicas.map((url: string) => {
    const parsed = parseDatabaseUrl(url);
    if (parsed.engine === "pglite") throw new ValueError("a replica cannot be an embedded database");
    const own = new Set(["url", "host", "port", "targetSessionAttrs", "logQueries", "maxReplicaLag"]);
    for (const name of Object.keys(parsed.options)) own.add(camelCase(name));
    const inherited = Object.entries(primary).filter(([name]) => !own.has(name));
    return new DatabaseConfig({ ...Object.fromEntries(inherited), url });
  });
}

const emptyUrl: ParsedUrl = { engine: "postgres", folder: null, hosts: null, options: {} };

/** A server, fit for a log. */
export function addressOf({ host, port }: Host): string {
  return host.startsWith("/") ? host : `${host}:${port}`;
}

/** The hosts of the fields, of the URL, or of the environment. */
function hostsOf(
  merged: { readonly host: string; readonly port: number },
  options: Partial<DatabaseOptions>,
  parsed: ParsedUrl,
): readonly Host[] {
  if (options.host === undefined && parsed.hosts !== null && parsed.options["host"] === parsed.hosts[0]!.host) {
    return parsed.hosts.map(({ host, port }) => ({ host, port: options.port ?? port ?? defaults.port }));
  }
  const names = merged.host.split(",").map((name) => name.trim());
  if (names.includes(""))
    throw new ValueError("option 'host' in DatabaseConfig has an empty host in its list of hosts");
  return names.map((host) => ({ host, port: merged.port }));
}

/** The variables of libpq: defaults for options that neither a field nor the URL gives. */
const variables = {
  PGHOST: "host",
  PGPORT: "port",
  PGUSER: "user",
  PGPASSWORD: "password",
  PGDATABASE: "database",
  PGSSLMODE: "sslmode",
  PGSSLROOTCERT: "sslrootcert",
  PGSSLCERT: "sslcert",
  PGSSLKEY: "sslkey",
  PGREQUIREAUTH: "requireAuth",
  PGCHANNELBINDING: "channelBinding",
  PGTARGETSESSIONATTRS: "targetSessionAttrs",
  PGAPPNAME: "applicationName",
  PGCONNECT_TIMEOUT: "connectTimeout",
} as const satisfies Record<string, keyof DatabaseOptions>;

function environment(engine: DatabaseConfig["engine"]): Partial<DatabaseOptions> {
  const found: Record<string, unknown> = {};
  if (engine === "pglite") return found;
  for (const [variable, name] of Object.entries(variables)) {
    const text = process.env[variable];
    // An empty one counts as not set, as in libpq.
    if (text === undefined || text === "") continue;
    const value = name === "port" ? Number(text) : name === "connectTimeout" ? Number(text) * 1000 : text;
    if (name !== "password") checkOption("the environment", variable, value, checks[name]);
    found[name] = value;
  }
  return found;
}
