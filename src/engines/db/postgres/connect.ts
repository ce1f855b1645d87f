import type { Socket } from "node:net";
import { milliseconds } from "../../../kit/time/duration.js";
import { timeLimit } from "../../../kit/time/time-limit.js";
import { type DatabaseConfig, addressOf as hostAddress, type OpenStream } from "../config.js";
import { OperationalError } from "../errors.js";
import type { AuthMethod } from "../require-auth.js";
import { translateError } from "../translate-error.js";
import type { DatabaseServer } from "../url.js";
import { AuthenticationRefused, guardAuthentication } from "./authentication.js";
import { MessageReader } from "./message-reader.js";
import type { PgClient, PgModule } from "./pg-module.js";
import { openStream } from "./stream.js";
import { type Attempt, isUnixSocket } from "./tls.js";

export interface Connected {
  readonly client: PgClient;
  /** Reads the messages of the server. */
  readonly reader: MessageReader;
  /** The way in which it was connected, for a second connection to the same server. */
  readonly attempt: Attempt;
  /** The way of authentication that the server asked for. */
  readonly method: AuthMethod;
  /** The server. Its certificate belongs to this name or address. */
  readonly host: DatabaseServer;
  /** Opens the bytes to the server, if not a socket does. */
  readonly open: OpenStream | undefined;
  /** The server by host and port. */
  readonly server: string;
}

/** One server, and the account with which to connect. */
export interface Target {
  readonly config: DatabaseConfig;
  readonly host: DatabaseServer;
  /** The ways to connect that are allowed, in order. */
  readonly attempts: readonly Attempt[];
  readonly password: string | undefined;
}

/**
 * Opens a session in the first way that works. Fails with the error of the first way, unless that was a server without
 * TLS and none is required.
 */
export async function connectClient(
  pg: PgModule,
  target: Target,
  timeout: number,
  reach = timeout,
): Promise<Connected> {
  let first: OperationalError | null = null;
  const deadline = performance.now() + timeout;
  for (const attempt of target.attempts) {
    const left = Math.ceil(deadline - performance.now());
    if (left <= 0) break;
    try {
      return {
        ...(await tryConnect(pg, target, attempt, left, reach)),
        attempt,
        host: target.host,
        open: target.config.stream,
        server: hostAddress(target.host),
      };
    } catch (error) {
      const failure = described(error, addressOf(target));
      first = first === null || hasNoTls(first) ? failure : first;
      if (!deservesAnotherWay(failure)) break;
    }
  }
  throw first ?? described(new Error("timeout expired"), addressOf(target));
}

/** The server and the database, fit for a log. */
export function addressOf({ config, host }: Pick<Target, "config" | "host">): string {
  return config.database === undefined ? hostAddress(host) : `${hostAddress(host)}/${config.database}`;
}

async function tryConnect(
  pg: PgModule,
  { config, host, password }: Target,
  attempt: Attempt,
  timeout: number,
  reach: number,
): Promise<Pick<Connected, "client" | "reader" | "method">> {
  const stream = config.stream && (await openStream(config.stream, host, timeout));
  const client = new pg.Client({
    stream,
    host: host.host,
    port: host.port,
    user: config.user,
    password,
    database: config.database,
    ssl: attempt === false ? false : { ...attempt },
    application_name: config.applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    // The driver claims to support it without TLS too, if it is on.
    enableChannelBinding: attempt !== false && config.channelBinding !== "disable",
  });
  // Without a listener, an error of the client that belongs to no query would end the process.
  client.on("error", () => {});
  const guard = guardAuthentication(client, config, {
    tls: attempt !== false,
    local: stream === undefined ? isUnixSocket(host) : "encrypted" in stream,
  });
  const reader = readFrom(client);
  const startup = client.getStartupConf.bind(client);
  client.getStartupConf = () => ({ ...startup(), ...sessionSettings(config) });
  // With TLS, the stream is another one later.
  const giveUp = (): void => void client.connection.stream.destroy(new Error("timeout expired"));
  const stopTimer = timeLimit(timeout, giveUp);
  const reached = timeLimit(Math.min(reach, timeout), giveUp);
  client.connection.stream.once("connect", reached);
  try {
    await client.connect();
    guard.assertAccepted();
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  } finally {
    stopTimer();
    reached();
  }
  return { client, reader, method: guard.method };
}

/**
 * The settings that a session needs so that its values are read correctly, independent of those of the server. A pooler
 * refuses settings that it does not know; all of them know DateStyle.
 */
function sessionSettings(config: DatabaseConfig): Record<string, string> {
  const settings: Record<string, string> = { DateStyle: "ISO" };
  if (config.statementTimeout > 0 && config.preparedStatements) {
    settings["statement_timeout"] = String(milliseconds(config.statementTimeout));
  }
  return settings;
}

/**
 * Puts a reader between the socket and the driver. An error about a corrupt message, thrown in an event of the socket,
 * would end the process. Here it ends the connection.
 */
function readFrom(client: PgClient): MessageReader {
  const reader = new MessageReader();
  const handle = client.connection;
  const attach = handle.attachListeners.bind(handle);
  handle.attachListeners = (stream: Socket) => {
    const before = new Set(stream.listeners("data"));
    attach(stream);
    for (const listener of stream.listeners("data") as ((chunk: Buffer) => void)[]) {
      if (before.has(listener)) continue;
      stream.off("data", listener);
      reader.passOn = listener;
      stream.on("data", (chunk: Buffer) => {
        try {
          reader.read(chunk);
        } catch (error) {
          stream.destroy(error as Error);
        }
      });
    }
  };
  return reader;
}

/** As in libpq, the next way is tried if TLS fails or the server refuses this kind of connection. */
function deservesAnotherWay({ sqlstate, cause }: OperationalError): boolean {
  if (cause instanceof AuthenticationRefused) return cause.needsTls;
  if (sqlstate === "28000" || sqlstate === noTls) return true;
  const { code, message } = cause as { code?: unknown; message?: unknown };
  return code === "ECONNRESET" || message === "Connection terminated unexpectedly";
}

/** True for the error of node-postgres about a server without TLS. */
function hasNoTls({ cause }: OperationalError): boolean {
  return (cause as { message?: unknown }).message === "The server does not support SSL connections";
}

/** SQLSTATE of a connection that was refused here: no TLS, or a wrong certificate. */
const noTls = "08004";

function described(error: unknown, address: string): OperationalError {
  const translated = translateError(error);
  const fromServer = translated.sqlstate !== null && !translated.sqlstate.startsWith("08");
  const reason = fromServer ? translated.message : reasonOf(error);
  // PgBouncer has one code for all errors, also for a server that is just starting. This one is permanent.
  if (reason.startsWith("unsupported startup parameter")) return pooledError(reason, address, error);
  if (error instanceof AuthenticationRefused) return refusedError(error, address);
  const sqlstate = fromServer ? translated.sqlstate : isAboutTls(error) ? noTls : "08001";
  const cure = cures[sqlstate ?? ""] ?? "";
  return new OperationalError(`cannot connect to PostgreSQL at ${address}: ${reason}${cure}`, {
    sqlstate,
    cause: error,
  });
}

const cures: Readonly<Record<string, string>> = {
  "3D000": "; create it with createdb, or correct the name in the URL",
  "28P01": "; correct the user and the password in the URL",
};

function refusedError(cause: AuthenticationRefused, address: string): OperationalError {
  const hint = cause.needsTls ? "; use sslmode 'require' or better, or SCRAM on the server" : "";
  const message = `cannot connect to PostgreSQL at ${address}: ${cause.message}${hint}`;
  return new OperationalError(message, { sqlstate: "28000", cause });
}

function pooledError(reason: string, address: string, cause: unknown): OperationalError {
  const hint = "behind a pooler in transaction mode (PgBouncer) the option is preparedStatements: false";
  const message = `cannot connect to PostgreSQL at ${address}: ${reason}; ${hint}`;
  return new OperationalError(message, { sqlstate: "08P01", cause });
}

function isAboutTls(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  // The names of OpenSSL for errors in certificates have no common form.
  return /SSL|TLS|CERT|EPROTO|SIGNATURE|CRL/.test(String(code)) || /\b(?:SSL|TLS)\b|certificate/i.test(String(message));
}

function reasonOf(error: unknown): string {
  // Several addresses of one name were tried: Node then gives an error of errors without a message.
  const { message, errors } = error as Error & { errors?: Error[] };
  if (message === "timeout expired") return "no answer in time";
  return message || errors?.map((each) => each.message).join(", ") || String(error);
}
