import { type EitherSpelling, type SnakeCase, snakeCase } from "../../internal/names.js";
import { inspectSymbol } from "../../internal/node-modules.js";
import { type Checks, is, readCall } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { authMethods, parseRequireAuth } from "./require-auth.js";
import { type ParsedUrl, parseDatabaseUrl } from "./url.js";

/** As in libpq: how much a connection insists on TLS, and on whom it finds at the other end. */
export type SslMode = "disable" | "allow" | "prefer" | "require" | "verify-ca" | "verify-full";

export interface DatabaseOptions {
  /** `postgres://user:password@host:5432/database?sslmode=require`, `pglite:` or `pglite:./folder`. */
  url?: string;
  /** The most connections that are open at a time; 10 unless given. */
  poolSize?: number;
  sslmode?: SslMode;
  /** A file of certificates to trust, or `system` for those of the operating system. */
  sslrootcert?: string;
  /** A client certificate and its key. */
  sslcert?: string;
  sslkey?: string;
  /**
   * The ways of authentication that a server may ask for, as in libpq: `scram-sha-256`, `md5`, `password` (clear text) and
   * `none`, separated by commas; or, with an exclamation mark each, those that it may not ask for.
   */
  requireAuth?: string;
  /** SCRAM bound to the TLS connection: `prefer` where the server offers it (default), `require`, or `disable`. */
  channelBinding?: "disable" | "prefer" | "require";
  /** A name, an address, or the folder of a Unix socket. */
  host?: string;
  port?: number;
  user?: string;
  password?: string;
  database?: string;
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
  // Checked apart: the message of a failed check shows the value.
  password: is.anything,
  database: is.text,
  applicationName: is.text,
  connectTimeout: is.integer(1, 2_147_483_647),
  acquireTimeout: is.integer(1, 2_147_483_647),
  statementTimeout: milliseconds,
  idleTimeout: milliseconds,
  maxLifetime: milliseconds,
  preparedStatements: is.boolean,
};

const defaults = {
  poolSize: 10,
  sslmode: "prefer",
  channelBinding: "prefer",
  host: "localhost",
  port: 5432,
  applicationName: "stoa",
  connectTimeout: 5000,
  acquireTimeout: 4000,
  statementTimeout: 30_000,
  idleTimeout: 60_000,
  maxLifetime: 1_800_000,
  preparedStatements: true,
} as const satisfies Partial<DatabaseOptions>;

function requireAuthCheck(value: unknown): string | undefined {
  if (typeof value === "string" && parseRequireAuth(value) !== null) return undefined;
  return `a list of ${authMethods.join(", ")}, separated by commas, all or none of them with a '!'`;
}

const contractOrder = ["url", "poolSize", "sslmode", "sslrootcert"] as const;

/** Where the database is and how to use it. What is given as a field wins over the same in the URL. */
export class DatabaseConfig {
  readonly engine: "postgres" | "pglite";
  /** The folder of an embedded database; null for one in memory, or for a server. */
  readonly folder: string | null;

  constructor(
    ...given:
      | [options: EitherSpelling<DatabaseOptions>]
      | [url: string, poolSize?: number, sslmode?: SslMode, sslrootcert?: string]
  ) {
    const options = readCall<DatabaseOptions>("DatabaseConfig", given, contractOrder, checks);
    if (options.password !== undefined && typeof options.password !== "string") {
      throw new ValueError("option 'password' in DatabaseConfig must be a string");
    }
    const parsed = options.url === undefined ? emptyUrl : parseDatabaseUrl(options.url);
    const fromUrl = readCall<DatabaseOptions>("the query of the database URL", [parsed.options], [], checks);
    this.engine = parsed.engine;
    this.folder = parsed.folder;
    Object.assign(this, { ...defaults, ...fromUrl, ...options });
    for (const secret of ["url", "password"] as const) {
      Object.defineProperty(this, secret, { value: this[secret], enumerable: false });
    }
  }

  /** Takes a config, its fields or a URL. */
  static from(given: DatabaseConfig | EitherSpelling<DatabaseOptions> | string): DatabaseConfig {
    if (given instanceof DatabaseConfig) return given;
    return typeof given === "string" ? new DatabaseConfig(given) : new DatabaseConfig(given);
  }

  /** Where the database is, fit for a log: without user and password. */
  get address(): string {
    if (this.engine === "pglite") return this.folder === null ? "PGlite in memory" : `PGlite in ${this.folder}`;
    const where = this.host.startsWith("/") ? this.host : `${this.host}:${this.port}`;
    return this.database === undefined ? where : `${where}/${this.database}`;
  }

  [inspectSymbol](): string {
    return `DatabaseConfig { ${this.address}, poolSize: ${this.poolSize}, sslmode: '${this.sslmode}' }`;
  }
}
export interface DatabaseConfig extends Readonly<Settings>, Readonly<SnakeFields> {}

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

const emptyUrl: ParsedUrl = { engine: "postgres", folder: null, options: {} };
