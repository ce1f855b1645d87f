import type { Duplex } from "node:stream";
import { config, type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { camelCase, type EitherSpelling } from "../../kit/names.js";
import { inspectSymbol } from "../../kit/node-modules.js";
import { type Check, checkOption, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { overruled } from "../overruled.js";
import type { DatabaseEngine } from "./database.js";
import { isQueryLog, type QueryLogOptions, readQueryLog } from "./log/options.js";
import { authMethods, parseRequireAuth } from "./require-auth.js";
import { type DatabaseServer, type ParsedUrl, parseDatabaseUrl } from "./url.js";

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
const sessionAttrs = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"] as const;

/** As in libpq: the need for TLS, and the checks of the certificate. */
export type SslMode = (typeof sslModes)[number];

/** As in libpq: a session that accepts changes or does not, a primary or a standby server. */
export type TargetSessionAttrs = (typeof sessionAttrs)[number];

/** Opens the bytes to one server. */
export type OpenStream = (server: DatabaseServer) => Duplex | Promise<Duplex>;

const isAuthList: Check<string> = (value) =>
  typeof value === "string" && parseRequireAuth(value) !== null
    ? undefined
    : `a list of ${authMethods.join(", ")}, separated by commas, all or none of them with a '!'`;

const isPassword: Check<string | (() => string | Promise<string>)> = (value) =>
  typeof value === "string" || typeof value === "function" ? undefined : "a string or a function";

const areUrls: Check<readonly string[]> = (value) => (is.strings(value) === undefined ? undefined : "a list of URLs");

const fields = {
  /** `postgres://user:password@host:5432/database?sslmode=require`, `pglite:` or `pglite:./folder`. */
  url: option.secret(is.text),
  /** The most connections that are open at a time. Default 10. */
  poolSize: option(is.integer(1, 10_000), 10),
  /** The need for TLS and the checks of the certificate, as in libpq. Default "prefer". */
  sslmode: option(is.oneOf(...sslModes), "prefer"),
  /** A file of certificates to trust, or `system` for those of the operating system. */
  sslrootcert: option(is.text),
  /** The file of a client certificate. */
  sslcert: option(is.text),
  /** The file of the key of `sslcert`. */
  sslkey: option(is.text),
  /**
   * The ways of authentication that a server may ask for, as in libpq: `scram-sha-256`, `md5`, `password` (clear text) and
   * `none`, separated by commas; or, with an exclamation mark each, those that it may not ask for.
   */
  requireAuth: option(isAuthList),
  /** SCRAM bound to the TLS connection: where the server offers it, always, or never. Default "prefer". */
  channelBinding: option(is.oneOf("disable", "prefer", "require"), "prefer"),
  /** A name, an address, or the folder of a Unix socket; several, separated by commas, are tried in turn. Default "localhost". */
  host: option(is.text, "localhost"),
  /** The port of the server. Default 5432. */
  port: option(is.integer(1, 65_535), 5432),
  /** The name of the role to log in as. */
  user: option(is.text),
  /** A function is called for each new connection: for tokens that expire. */
  password: option.secret(isPassword),
  /**
   * Opens the bytes to a server in place of a socket: a tunnel, a connector of a cloud, a WebSocket. It is called with the host
   * and the port for each connection and each cancelled statement. TLS by `sslmode` is inside of this stream.
   */
  stream: option<OpenStream>(is.function),
  /** The name of the database. */
  database: option(is.text),
  /** As in libpq: the kind of server to look for, among several hosts or behind one name. Default "any". */
  targetSessionAttrs: option(is.oneOf(...sessionAttrs), "any"),
  /** The name of this program in the views of the server. Default "stoa". */
  applicationName: option(is.text, "stoa"),
  /** Time to wait for a new connection, and for the database at the start. Default 5 seconds. */
  connectTimeout: option.duration("5s", "1ms", "24d"),
  /** Time that a call may wait for a free connection. Default 4 seconds. */
  acquireTimeout: option.duration("4s", "1ms", "24d"),
  /** Time that one statement may run; 0 for no limit. Default 30 seconds. */
  statementTimeout: option.duration("30s", 0, "24d"),
  /** Time after which a connection without work is closed; 0 for never. One always stays. Default 1 minute. */
  idleTimeout: option.duration("1m", 0, "24d"),
  /**
   * Time after which a connection is replaced by a new one, give or take a tenth; 0 for never. A database that has moved
   * is found again by then. Default 30 minutes.
   */
  maxLifetime: option.duration("30m", 0, "24d"),
  /** Logs every statement with its duration, its rows and its request, slow ones as warnings; an object has the options. Default false. */
  logQueries: option.made<boolean | EitherSpelling<QueryLogOptions>, ReturnType<typeof readQueryLog>>(
    isQueryLog,
    readQueryLog,
    null,
    "false",
  ),
  /**
   * URLs of servers that follow this one. Reads of requests outside of transactions go to them until the request writes.
   * Other fields and missing parts of a URL are those of this server.
   */
  replicas: option.secret(areUrls, (urls) => urls, []),
  /** Time that a replica may be behind, measured to about a second; 0 for no limit. Default 0. */
  maxReplicaLag: option.duration(0, 0, "24d"),
  /** False for a pooler between here and the server that gives each transaction another session (PgBouncer). Default true. */
  preparedStatements: option(is.boolean, true),
};

type Settings = SettingsOf<typeof fields>;
export interface DatabaseOptions extends OptionsOf<typeof fields> {}

const queryOptions = options("the query of the database URL", fields);

const Base = config("DatabaseConfig", fields, {
  order: ["url", "poolSize", "sslmode", "sslrootcert"],
  idle({ url, sslmode, replicas }) {
    const isEmbedded = parsedUrl(url).engine === "pglite" && "an embedded database has no server to connect to";
    const withoutTls = isEmbedded || (sslmode === "disable" && "sslmode is disable");
    return {
      host: isEmbedded,
      port: isEmbedded,
      user: isEmbedded,
      password: isEmbedded,
      database: isEmbedded,
      sslmode: isEmbedded,
      sslrootcert: withoutTls,
      sslcert: withoutTls,
      sslkey: withoutTls,
      maxReplicaLag: replicas.length === 0 && "there are no replicas",
    };
  },
  refine(_settings, given) {
    const parsed = parsedUrl(given.url);
    return { ...found(given, parsed), ...hostsOf(given, parsed)[0] };
  },
});

/** The place of the database and its options. A field wins over the same one in the URL. */
export class DatabaseConfig extends Base {
  readonly engine: DatabaseEngine;
  /** The folder of an embedded database; null for one in memory, or for a server. */
  readonly folder: string | null;
  /** The servers in the order in which they are tried; usually one. */
  readonly hosts: readonly DatabaseServer[];
  /** The replicas, each with all of its options. */
  declare readonly replicaConfigs: readonly DatabaseConfig[];

  constructor(...given: ConstructorParameters<typeof Base>) {
    super(...given);
    const parsed = parsedUrl(this.url);
    this.engine = parsed.engine;
    this.folder = parsed.folder;
    this.hosts = hostsOf(DatabaseConfig.options.readGiven(given), parsed);
    // Not shown: they have passwords.
    Object.defineProperty(this, "replicaConfigs", { value: replicaConfigs(this) });
  }

  /** @internal A sentence for each part of the URL that an option overrules; a host can be one of several. */
  overruled(): string[] {
    const { host: _host, port: _port, ...parts } = queryOptions.readGiven([parsedUrl(this.url).options]);
    return overruled("DatabaseConfig", parts, this);
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

/** The configuration of each replica: its URL, and for all else that of the primary. */
function replicaConfigs(primary: DatabaseConfig): readonly DatabaseConfig[] {
  if (primary.replicas.length > 0 && primary.engine === "pglite")
    throw new ValueError("option 'replicas' in DatabaseConfig is for servers: an embedded database has none");
  return primary.replicas.map((url) => {
    const parsed = parseDatabaseUrl(url);
    if (parsed.engine === "pglite") throw new ValueError("a replica cannot be an embedded database");
    const own = new Set(["url", "host", "port", "targetSessionAttrs", "logQueries", "replicas", "maxReplicaLag"]);
    for (const name of Object.keys(parsed.options)) own.add(camelCase(name));
    const inherited = (Object.keys(fields) as (keyof Settings)[]).filter((name) => !own.has(name));
    return new DatabaseConfig({ ...Object.fromEntries(inherited.map((name) => [name, primary[name]])), url });
  });
}

/** The options of the environment, of the URL and of the fields, of which the last win. */
function found(given: Partial<Settings>, parsed: ParsedUrl): Partial<Settings> {
  return { ...environment(parsed.engine), ...queryOptions.readGiven([parsed.options]), ...given };
}

function parsedUrl(url: string | undefined): ParsedUrl {
  return url === undefined ? emptyUrl : parseDatabaseUrl(url);
}

const emptyUrl: ParsedUrl = { engine: "postgres", folder: null, hosts: null, options: {} };

/** A server, fit for a log. */
export function addressOf({ host, port }: DatabaseServer): string {
  return host.startsWith("/") ? host : `${host}:${port}`;
}

/** The hosts of the fields, of the URL, or of the environment. */
function hostsOf(options: Partial<Settings>, parsed: ParsedUrl): readonly DatabaseServer[] {
  if (options.host === undefined && parsed.hosts !== null && parsed.options["host"] === parsed.hosts[0]!.host) {
    return parsed.hosts.map(({ host, port }) => ({ host, port: options.port ?? port ?? fields.port.fallback }));
  }
  const { host = fields.host.fallback, port = fields.port.fallback } = found(options, parsed);
  const names = host.split(",").map((name) => name.trim());
  if (names.includes(""))
    throw new ValueError("option 'host' in DatabaseConfig has an empty host in its list of hosts");
  return names.map((name) => ({ host: name, port }));
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
} as const satisfies Record<string, keyof Settings>;

function environment(engine: DatabaseEngine): Partial<Settings> {
  const found: Record<string, unknown> = {};
  if (engine === "pglite") return found;
  for (const [variable, name] of Object.entries(variables)) {
    const text = process.env[variable];
    // An empty one counts as not set, as in libpq.
    if (text === undefined || text === "") continue;
    const value = name === "port" || name === "connectTimeout" ? Number(text) : text;
    if (name !== "password") checkOption("the environment", variable, value, fields[name].check);
    found[name] = value;
  }
  return found;
}
