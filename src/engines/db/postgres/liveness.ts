import { milliseconds } from "../../../kit/time/duration.js";
import { timeLimit } from "../../../kit/time/time-limit.js";
import type { DatabaseConfig } from "../config.js";
import { type ConnectionOwner, nobody } from "../connection.js";
import type { ArrayResult } from "../database.js";
import { watchInterval } from "../engine.js";
import { DatabaseError, OperationalError } from "../errors.js";
import { Execution } from "../pool/execution.js";
import { internalStatement } from "../statements.js";
import type { PgConnection } from "./pg-connection.js";

type Open = (owner: ConnectionOwner, timeout: number, reach: number) => Promise<PgConnection>;

/** Milliseconds without a byte from the server, while a statement runs, after which a second connection asks for it. */
const firstDoubt = 2000;
const longestDoubt = 30_000;
/**
 * Milliseconds in which a server that is alive responds to that, however busy it is and however slow the network has become. A
 * server that refuses the connection, or has no such session, is known at once.
 */
const patience = 30_000;
/** Milliseconds in which the machine of a server takes a connection, however busy the server is: else the network has lost it. */
const reach = 4000;
/** Milliseconds that the server's own limit for a statement gets to take effect. */
const grace = 1000;

interface Silence {
  bytes: number;
  since: number;
  /** The length of silence at which to ask next. */
  doubt: number;
}

/**
 * Distinguishes a slow response from one that will never come. If a network drops packets or a server hangs, nothing is
 * received: only a second, new connection shows if the statement is still running.
 */
export class Liveness {
  readonly #config: DatabaseConfig;
  readonly #open: Open;
  readonly #silences = new WeakMap<PgConnection, Silence>();
  #probing = false;
  #checkedAt = performance.now();

  constructor(config: DatabaseConfig, open: Open) {
    this.#config = config;
    this.#open = open;
  }

  check(connections: readonly PgConnection[]): void {
    const now = performance.now();
    // Time in which the event loop was blocked does not count: statements waited here, or their responses did.
    const blocked = Math.max(0, now - this.#checkedAt - watchInterval);
    this.#checkedAt = now;
    const doubtful: PgConnection[] = [];
    for (const connection of connections) {
      const silence = this.#listen(connection, now);
      if (connection.load === 0 || !connection.usable) continue;
      connection.busySince = Math.min(now, connection.busySince + blocked);
      this.#enforceLimit(connection, now);
      if (now - silence.since > silence.doubt) doubtful.push(connection);
    }
    if (doubtful.length > 0 && !this.#probing) {
      this.#probing = true;
      void this.#probe(doubtful, connections).finally(() => (this.#probing = false));
    }
  }

  #listen(connection: PgConnection, now: number): Silence {
    const { bytesRead: bytes } = connection;
    const known = this.#silences.get(connection);
    if (known !== undefined && known.bytes === bytes && connection.load > 0) return known;
    const silence = { bytes, since: Math.max(now, connection.busySince), doubt: firstDoubt };
    this.#silences.set(connection, silence);
    return silence;
  }

  /** The server ends a statement at its limit; this is for when it does not, or a pooler kept it from knowing. */
  #enforceLimit(connection: PgConnection, now: number): void {
    const limit = connection.statementLimit ?? milliseconds(this.#config.statementTimeout);
    if (limit === 0) return;
    const age = now - connection.busySince;
    if (age > limit + 2 * grace) {
      connection.destroy(tookTooLong(limit));
    } else if (age > limit && !this.#config.preparedStatements) {
      connection.head?.abandon(tookTooLong(limit));
    }
  }

  async #probe(doubtful: readonly PgConnection[], all: readonly PgConnection[]): Promise<void> {
    const before = new Map(all.map((connection) => [connection, connection.bytesRead]));
    const spoke = (connection: PgConnection): boolean => connection.bytesRead !== before.get(connection);
    const alive = await this.#askServer(doubtful);
    for (const connection of doubtful) {
      if (spoke(connection) || connection.load === 0 || !connection.usable) continue;
      // A server that responds to others is only too busy for a new connection.
      const isBusy = alive === null && all.some((each) => each.server === connection.server && spoke(each));
      if (!isBusy && !alive?.has(connection)) {
        connection.destroy(new OperationalError("the database no longer responds", { sqlstate: "08006" }));
        continue;
      }
      const silence = this.#silences.get(connection);
      if (silence !== undefined) silence.doubt = Math.min(silence.doubt * 2, silence.doubt + longestDoubt);
    }
  }

  /** The connections whose sessions are at work on the server; null if it does not say. */
  async #askServer(doubtful: readonly PgConnection[]): Promise<ReadonlySet<PgConnection> | null> {
    let probe: PgConnection;
    try {
      probe = await this.#open(nobody, patience, reach);
    } catch (error) {
      // Only a server that is alive sends an error.
      const answered = error instanceof DatabaseError && error.sqlstate !== "08001";
      return answered ? new Set(doubtful) : null;
    }
    const stopTimer = timeLimit(patience, () => probe.destroy(new Error("no answer")));
    try {
      // A pooler has its own numbers for sessions.
      const working = this.#config.preparedStatements ? await workingSessions(probe) : null;
      // A server knows nothing about the sessions of the other hosts.
      return new Set(
        doubtful.filter(
          ({ client, server }) => working === null || server !== probe.server || working.has(client.processID),
        ),
      );
    } catch {
      return null;
    } finally {
      stopTimer();
      void probe.end().catch(() => {});
    }
  }
}

/** Process numbers of sessions at work, or done so recently that their response may still be on its way. */
async function workingSessions(probe: PgConnection): Promise<ReadonlySet<number>> {
  const text =
    "select pid from pg_catalog.pg_stat_activity " +
    "where state is distinct from 'idle' or state_change > pg_catalog.clock_timestamp() - interval '1 second'";
  const execution = new Execution(internalStatement(text), [], "arrays", false);
  probe.send(execution);
  const { rows } = (await execution.promise) as ArrayResult;
  return new Set(rows.map(([pid]) => pid as number));
}

function tookTooLong(limit: number): OperationalError {
  return new OperationalError(`the statement took longer than the limit of ${limit} ms`, { sqlstate: "57014" });
}
