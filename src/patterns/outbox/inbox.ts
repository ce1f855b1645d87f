import { atOnce, inBatches } from "../../durable/retention.js";
import { installTables } from "../../durable/tables.js";
import type { Database, Transaction } from "../../engines/db/database.js";
import type { Inbox, InboxClaim } from "../../engines/messaging/consume/inbox.js";
import type { AttemptResult, Outcome } from "../../engines/messaging/consume/outcome.js";
import type { Logger } from "../../kit/logger.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { lazily } from "../../kit/on-demand.js";
import type { OutboxSettings } from "./options.js";
import { inboxTables } from "./tables.js";

/** Milliseconds before a message is looked at again that another process handles. */
const busyPause = 1000;
/** Milliseconds between the end of a handler's time and the end of its transaction by the server. */
const grace = 10_000;
const sweepInterval = 600_000;
/** Ids that other programs wrote can be longer than an index takes, or no text for PostgreSQL. */
const longestId = 500;

/**
 * Runs handlers in a transaction that also stores the id of the message: both are committed, or neither. A second delivery
 * finds the id. If the commit was applied and its confirmation lost, the id exists all the same.
 */
export class PostgresInbox implements Inbox {
  readonly #table: string;
  readonly open = lazily(() => this.#open());
  #sweeping: NodeJS.Timeout | null = null;

  constructor(
    readonly db: Database,
    readonly settings: OutboxSettings,
    readonly logger: Logger,
  ) {
    this.#table = `"${settings.schema}".inbox`;
  }

  close(): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
  }

  async handle(claim: InboxClaim, run: (tx: Transaction) => Promise<Outcome>): Promise<AttemptResult> {
    const id = shortId(claim.id);
    let outcome: Outcome | null = null;
    try {
      return await this.db.transaction(
        async (tx) => {
          const state = await this.#claim(tx, claim.consumer, id);
          if (state !== "free") return state === "busy" ? { kind: "busy", delayMs: busyPause } : { kind: "duplicate" };
          outcome = await run(tx);
          if (outcome.kind === "done" || outcome.kind === "reject") return outcome;
          throw new NotHandled(outcome);
        },
        // The transaction of a process that is paused must not keep the message from others without end.
        { settings: claim.timeout === 0 ? {} : { idle_in_transaction_session_timeout: claim.timeout + grace } },
      );
    } catch (error) {
      if (error instanceof NotHandled) return error.outcome;
      return outcome === null ? this.#unreachable(claim, error) : this.#afterCommit(claim.consumer, id, outcome, error);
    }
  }

  /** Deletes ids that are too old or too many; none of the same time as the last one that is kept. */
  sweep(): Promise<number> {
    const { inbox, inboxCount } = this.settings;
    return inBatches(
      this.db,
      `delete from ${this.#table} where (consumer, message_id) in (
         select consumer, message_id from ${this.#table}
         where handled_at < greatest(statement_timestamp() - $1 * interval '1 second', case when $2 = 0 then 'infinity'
           else (select handled_at from ${this.#table} order by handled_at desc offset $2 - 1 limit 1) end)
         order by handled_at limit ${atOnce} for update skip locked)`,
      [inbox, inboxCount],
    );
  }

  async #open(): Promise<void> {
    await installTables(this.db, this.settings.schema, inboxTables);
    const sweep = (): void =>
      void this.sweep().catch((error: unknown) => this.logger.warn("the inbox was not cleaned", { error }));
    this.#sweeping ??= setInterval(sweep, sweepInterval).unref();
    sweep();
  }

  /**
   * Stores the id. The advisory lock tells without waiting that another transaction is at it: a statement that waited for
   * that one would take up a connection.
   */
  async #claim(tx: Transaction, consumer: string, id: string): Promise<"free" | "done" | "busy"> {
    const row = await tx.fetchrow<{ locked: boolean; added: boolean }>(
      `with lock as materialized (select pg_try_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0)) as locked),
       added as (insert into ${this.#table} (consumer, message_id) select $1, $2 from lock where locked
         on conflict do nothing returning 1)
       select locked, exists (select from added) as added from lock`,
      [consumer, id],
    );
    if (row!.added) return "free";
    return row!.locked ? "done" : "busy";
  }

  /** The commit failed, or something after it. The table shows if the effect exists. */
  async #afterCommit(consumer: string, id: string, outcome: Outcome, error: unknown): Promise<AttemptResult> {
    try {
      const text = `select exists (select from ${this.#table} where consumer = $1 and message_id = $2)`;
      if ((await this.db.fetchval<boolean>(text, [consumer, id])) === true) {
        this.logger.warn("a message was handled, though its transaction reported an error", { id, error });
        return outcome;
      }
    } catch {
      return { kind: "busy", delayMs: busyPause };
    }
    return { kind: "retry", error, delayMs: null };
  }

  #unreachable(claim: InboxClaim, error: unknown): AttemptResult {
    this.logger.warn("the inbox does not respond", { consumer: claim.consumer, id: claim.id, error });
    return { kind: "busy", delayMs: busyPause };
  }
}

/** Rolls the transaction back. */
class NotHandled extends Error {
  constructor(readonly outcome: Outcome) {
    super("the message was not handled");
  }
}

function shortId(id: string): string {
  if (id.length <= longestId && !id.includes("\0") && id.isWellFormed()) return id;
  return `sha256:${nodeCrypto().createHash("sha256").update(id, "utf16le").digest("hex")}`;
}
