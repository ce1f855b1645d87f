import type { Database, Queries, Subscription, Transaction } from "../engines/db/database.js";
import type { Logger } from "../kit/logger.js";
import { nodeCrypto } from "../kit/node-modules.js";

/**
 * Milliseconds between two notifications: one for each of a thousand appends would cost as much as the appends. The pause
 * grows while calls keep coming, as workers that are busy look for more work by themselves.
 */
const quietTime = 10;
const longestQuietTime = 80;

/**
 * Tells waiting workers, in this process and in others, that there is work. A hint only: workers also look by themselves
 * at intervals, so a lost notification costs time and nothing else.
 *
 * The notification is sent after the commit, in a separate statement, and calls made in between share the next one. A
 * `pg_notify` inside the transaction would serialize the commits of all writers: PostgreSQL holds one lock from then until
 * the end of the commit.
 */
export class Doorbell {
  readonly #listeners = new Set<() => void>();
  /** Identifies the notifications of this process, whose listeners are told at once. */
  readonly #sender = nodeCrypto().randomUUID();
  #subscription: Subscription | null = null;
  #sending: Promise<void> | null = null;
  #sent: Promise<void> = Promise.resolve();
  #again = false;
  #quietTime = quietTime;
  #closed = false;

  constructor(
    private readonly db: Database,
    private readonly channel: string,
    private readonly logger: Logger,
  ) {}

  async open(): Promise<void> {
    try {
      this.#subscription = await this.db.listen(this.channel, (sender) => {
        if (sender !== this.#sender) this.#tell();
      });
    } catch (error) {
      // Behind a pooler in transaction mode there is no session that could listen.
      this.logger.info("notifications of the database are not available; workers look for work at intervals", {
        channel: this.channel,
        error,
      });
    }
  }

  onRing(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Rings once the work of `queries` is committed. */
  ringAfter(queries: Queries): void {
    if (queries.kind === "transaction") (queries as Transaction).onCommit(() => this.ring());
    else this.ring();
  }

  ring(): void {
    if (this.#closed) return;
    this.#tell();
    if (this.#sending !== null) {
      this.#again = true;
      return;
    }
    const pause = async (): Promise<void> => {
      if (!this.#closed) await new Promise<void>((resolve) => void setTimeout(resolve, this.#quietTime).unref());
    };
    this.#sent = this.#send();
    this.#sending = this.#sent.then(pause).finally(() => {
      this.#sending = null;
      this.#quietTime = this.#again ? Math.min(this.#quietTime * 2, longestQuietTime) : quietTime;
      if (!this.#again) return;
      this.#again = false;
      this.ring();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#subscription?.close().catch(() => {});
    await this.#sent;
  }

  async #send(): Promise<void> {
    try {
      await this.db.execute("select pg_notify($1, $2)", [this.channel, this.#sender]);
    } catch (error) {
      this.logger.debug("a notification was not sent", { channel: this.channel, error });
    }
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
