import { boundedTransaction } from "../../../durable/bounded-transaction.js";
import type { Database, Subscription } from "../../../engines/db/database.js";
import type { Logger } from "../../../kit/logger.js";
import type { EventStorage } from "../storage/storage.js";
import type { WrappedKey } from "./master-keys.js";
import type { KeyStorage } from "./subject-keys.js";

/** Keys in PostgreSQL or PGlite. */
export class PostgresKeys implements KeyStorage {
  readonly #db: Database;
  readonly #schema: string;
  readonly #logger: Logger;
  readonly #events: EventStorage;
  #subscription: Subscription | null = null;

  constructor(db: Database, schema: string, logger: Logger, events: EventStorage) {
    this.#db = db;
    this.#schema = schema;
    this.#logger = logger;
    this.#events = events;
  }

  get provisional(): boolean {
    return this.#db.current.kind !== "database";
  }

  bySubject(subjects: readonly string[]): Promise<WrappedKey[]> {
    return this.#read("subject = any ($1)", [subjects]);
  }

  byId(ids: readonly string[]): Promise<WrappedKey[]> {
    return this.#read("id = any ($1)", [ids]);
  }

  async add(keys: readonly WrappedKey[]): Promise<void> {
    await this.#db.current.execute(
      `insert into ${this.#table("personal_keys")} (id, subject, master, wrapped)
       select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) on conflict (subject) do nothing`,
      [
        keys.map(({ id }) => id),
        keys.map(({ subject }) => subject),
        keys.map(({ master }) => master),
        keys.map(({ wrapped }) => wrapped),
      ],
    );
  }

  async note(subjects: readonly string[], stream: string): Promise<void> {
    await this.#db.current.execute(
      `insert into ${this.#table("personal_streams")} (subject, stream) select unnest($1::text[]), $2 on conflict do nothing`,
      [subjects, stream],
    );
  }

  async forget(subject: string): Promise<{ id: string | null; streams: string[] }> {
    const outcome = await boundedTransaction(this.#db.current, async (tx) => {
      const id = await tx.fetchval<string>(
        `delete from ${this.#table("personal_keys")} where subject = $1 returning id`,
        [subject],
      );
      // The rows stay, so that a worker that has the data in memory does not write a snapshot of them.
      const rows = await tx.fetch<{ stream: string }>(
        `update ${this.#table("personal_streams")} set forgotten_at = clock_timestamp() where subject = $1 returning stream`,
        [subject],
      );
      const streams = rows.map(({ stream }) => stream);
      await this.#events.forbidSnapshots(streams);
      // With the commit: a worker that hears of it must not find the key any more.
      if (id !== null) await tx.execute("select pg_notify($1, $2)", [this.#channel, id]);
      return { id, streams };
    });
    return outcome;
  }

  notWrappedBy(master: string, limit: number): Promise<WrappedKey[]> {
    return this.#read("master <> $1 limit $2", [master, limit]);
  }

  async rewrap({ id, master, wrapped }: WrappedKey): Promise<void> {
    const text = `update ${this.#table("personal_keys")} set master = $2, wrapped = $3 where id = $1`;
    await this.#db.current.execute(text, [id, master, wrapped]);
  }

  async onForgotten(listener: (id: string) => void): Promise<void> {
    try {
      this.#subscription = await this.#db.listen(this.#channel, (id) => listener(id));
    } catch (error) {
      this.#logger.info("deleted keys leave the caches of other workers after 'keyCache': no notifications", {
        error,
      });
    }
  }

  async close(): Promise<void> {
    await this.#subscription?.close().catch(() => {});
  }

  #read(condition: string, values: readonly unknown[]): Promise<WrappedKey[]> {
    const text = `select id, subject, master, wrapped from ${this.#table("personal_keys")} where ${condition}`;
    return this.#db.current.fetch<WrappedKey>(text, values);
  }

  get #channel(): string {
    return `${this.#schema}_forgotten`;
  }

  #table(name: string): string {
    return `"${this.#schema}".${name}`;
  }
}

/** Keys in the memory of one process. */
export class MemoryKeys implements KeyStorage {
  readonly provisional = false;
  readonly #keys = new Map<string, WrappedKey>();
  readonly #streams = new Map<string, Set<string>>();

  constructor(readonly events: EventStorage) {}

  async bySubject(subjects: readonly string[]): Promise<WrappedKey[]> {
    return subjects.map((subject) => this.#keys.get(subject)).filter((key) => key !== undefined);
  }

  async byId(ids: readonly string[]): Promise<WrappedKey[]> {
    return [...this.#keys.values()].filter(({ id }) => ids.includes(id));
  }

  async add(keys: readonly WrappedKey[]): Promise<void> {
    for (const key of keys) if (!this.#keys.has(key.subject)) this.#keys.set(key.subject, key);
  }

  async note(subjects: readonly string[], stream: string): Promise<void> {
    for (const subject of subjects) {
      this.#streams.set(subject, (this.#streams.get(subject) ?? new Set<string>()).add(stream));
    }
  }

  async forget(subject: string): Promise<{ id: string | null; streams: string[] }> {
    const id = this.#keys.get(subject)?.id ?? null;
    this.#keys.delete(subject);
    const streams = [...(this.#streams.get(subject) ?? [])];
    await this.events.forbidSnapshots(streams);
    return { id, streams };
  }

  async notWrappedBy(master: string, limit: number): Promise<WrappedKey[]> {
    return [...this.#keys.values()].filter((key) => key.master !== master).slice(0, limit);
  }

  async rewrap(key: WrappedKey): Promise<void> {
    this.#keys.set(key.subject, key);
  }

  async onForgotten(): Promise<void> {}
  async close(): Promise<void> {}
}
