import { milliseconds } from "../../../kit/time/duration.js";
import { timeLimit } from "../../../kit/time/time-limit.js";
import { within } from "../../../kit/time/within.js";
import type { DatabaseConfig, TargetSessionAttrs } from "../config.js";
import type { ConnectionOwner } from "../connection.js";
import type { ArrayResult } from "../database.js";
import { DatabaseError, OperationalError } from "../errors.js";
import { Execution } from "../pool/execution.js";
import type { ConnectionRoute } from "../route.js";
import { internalStatement } from "../statements.js";
import type { DatabaseServer } from "../url.js";
import { addressOf, type Connected, connectClient, type Target } from "./connect.js";
import type { PgConnection } from "./pg-connection.js";
import type { PgModule } from "./pg-module.js";
import { type Attempt, isUnixSocket } from "./tls.js";

/** Connects to the first host that responds and is of the wanted kind. */
export class ServerFinder {
  readonly #pg: PgModule;
  readonly #config: DatabaseConfig;
  readonly #attempts: readonly Attempt[];
  readonly #join: (connected: Connected) => PgConnection;
  /** The host of the last connection. It is tried first, so that a host that is down does not delay each connection. */
  #last: DatabaseServer | null = null;
  /** The way of the last connection; null before the first one. */
  route: ConnectionRoute | null = null;

  constructor(
    pg: PgModule,
    config: DatabaseConfig,
    attempts: readonly Attempt[],
    join: (connected: Connected) => PgConnection,
  ) {
    this.#pg = pg;
    this.#config = config;
    this.#attempts = attempts;
    this.#join = join;
  }

  /** `reach` is the part of the time in which the machine of a server must take the connection. */
  async connect(
    owner: ConnectionOwner,
    timeout = milliseconds(this.#config.connectTimeout),
    reach = timeout,
  ): Promise<PgConnection> {
    const { targetSessionAttrs } = this.#config;
    const deadline = performance.now() + timeout;
    if (targetSessionAttrs !== "prefer-standby") return this.#find(targetSessionAttrs, owner, deadline, reach);
    try {
      return await this.#find("standby", owner, performance.now() + timeout / 2, reach);
    } catch {
      return this.#find("any", owner, deadline, reach);
    }
  }

  async #find(
    wanted: TargetSessionAttrs,
    owner: ConnectionOwner,
    deadline: number,
    reach: number,
  ): Promise<PgConnection> {
    const password = await this.#password(deadline - performance.now());
    const failures: unknown[] = [];
    const hosts = this.#inOrder();
    for (const [index, host] of hosts.entries()) {
      const left = deadline - performance.now();
      if (left <= 0) break;
      const target = {
        config: this.#config,
        host,
        password,
        attempts: isUnixSocket(host) ? [false as const] : this.#attempts,
      };
      try {
        // Each host gets its share of the time that is left.
        const connected = await connectClient(this.#pg, target, Math.ceil(left / (hosts.length - index)), reach);
        const connection = this.#join(connected);
        await assertKind(connection, wanted, addressOf(target), deadline - performance.now());
        connection.owner = owner;
        this.#last = host;
        this.route = routeOf(target, connected);
        return connection;
      } catch (error) {
        failures.push(error);
        // As in libpq: if a server refuses the account, the others are not asked.
        if (error instanceof DatabaseError && error.sqlstate?.startsWith("28")) break;
      }
    }
    throw failures.length === 1 ? failures[0] : allFailed(failures);
  }

  #inOrder(): readonly DatabaseServer[] {
    const { hosts } = this.#config;
    const last = this.#last;
    return last === null ? hosts : [last, ...hosts.filter((host) => host !== last)];
  }

  async #password(timeout: number): Promise<string | undefined> {
    const { password } = this.#config;
    if (typeof password !== "function") return password;
    try {
      const text: unknown = await within(Promise.resolve(password()), timeout, () => {
        throw new Error("it took too long");
      });
      if (typeof text !== "string") throw new Error("it returned no string");
      return text;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new OperationalError(`cannot connect to PostgreSQL: the function for the password failed: ${reason}`, {
        sqlstate: "08001",
        cause,
      });
    }
  }
}

const kindQuery =
  "select pg_catalog.pg_is_in_recovery()::text, pg_catalog.current_setting('default_transaction_read_only')";

/** Asks a server for its kind; ends the connection and throws if it is not the wanted one. */
async function assertKind(
  connection: PgConnection,
  wanted: TargetSessionAttrs,
  address: string,
  timeout: number,
): Promise<void> {
  if (wanted === "any") return;
  const stopTimer = timeLimit(Math.max(1, timeout), () => connection.destroy(new Error("no answer in time")));
  try {
    const execution = new Execution(internalStatement(kindQuery), [], "arrays", false);
    connection.send(execution);
    const [[recovering, readOnlyByDefault] = []] = ((await execution.promise) as ArrayResult).rows;
    const standby = recovering === "true";
    const readOnly = standby || readOnlyByDefault === "on";
    const suits = {
      "read-write": !readOnly,
      "read-only": readOnly,
      primary: !standby,
      standby,
      "prefer-standby": true,
    };
    if (suits[wanted]) return;
    const access = readOnly ? "read-only" : "read-write";
    const role = standby ? "a standby" : "a primary";
    const kind = wanted === "read-write" || wanted === "read-only" ? access : role;
    throw new OperationalError(`cannot use PostgreSQL at ${address}: it is ${kind}, not ${wanted}`, {
      sqlstate: "08001",
    });
  } catch (error) {
    connection.destroy(error as Error);
    throw error;
  } finally {
    stopTimer();
  }
}

/** The options of TLS without the function among them, which no other thread can have; nor can it have the user's stream. */
function routeOf({ config, host, password }: Target, { attempt, method }: Connected): ConnectionRoute | null {
  if (config.stream !== undefined) return null;
  const { checkServerIdentity, ...ssl } = attempt === false ? { checkServerIdentity: undefined } : attempt;
  return {
    ...host,
    user: config.user,
    password,
    database: config.database,
    applicationName: config.applicationName,
    ssl: attempt === false ? false : (ssl as Record<string, unknown>),
    checksName: checkServerIdentity === undefined,
    method,
    bindsChannel: attempt !== false && config.channelBinding !== "disable",
  };
}

function allFailed(failures: readonly unknown[]): OperationalError {
  if (failures.length === 0)
    return new OperationalError("cannot connect to PostgreSQL: no time left", { sqlstate: "08001" });
  const messages = failures.map((failure) => (failure as Error).message);
  const last = failures.at(-1);
  const sqlstate = last instanceof DatabaseError ? last.sqlstate : "08001";
  return new OperationalError(messages.join("; "), { sqlstate, cause: last });
}
