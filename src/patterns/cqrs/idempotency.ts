import { deleteFinished } from "../../durable/retention.js";
import { installTables, type TableSet } from "../../durable/tables.js";
import { jsonText } from "../../durable/texts.js";
import type { Database } from "../../engines/db/database.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { ValueError } from "../../kit/value-error.js";
import { IdempotencyError } from "./message.js";

const tables: TableSet = {
  component: "commands",
  versions: [
    (schema) => `
create table "${schema}".command_results (
  id bigint generated always as identity primary key,
  name text not null,
  key text not null,
  fingerprint text not null,
  token bigint not null default 1,
  lease_until timestamptz not null,
  result jsonb,
  finished_at timestamptz,
  unique (name, key)
);
create index command_results_finished on "${schema}".command_results (finished_at) where finished_at is not null;
`,
  ],
};

const sweepInterval = 600_000;
/** The most results that are kept, whatever their age. */
const mostResults = 1_000_000;

/** A key that this caller holds, or the result that an earlier call with it had. */
export type Taken =
  | { readonly known: false; readonly token: number }
  | { readonly known: true; readonly result: unknown };

/** The results of commands by their idempotency keys. */
export class IdempotencyKeys {
  readonly #db: Database;
  readonly #table: string;
  readonly #schema: string;
  /** Seconds. */
  readonly #age: number;
  #swept = -Infinity;

  constructor(db: Database, schema: string, seconds: number) {
    this.#db = db;
    this.#schema = schema;
    this.#table = `"${schema}".command_results`;
    this.#age = seconds;
  }

  open(): Promise<void> {
    return installTables(this.#db, this.#schema, tables);
  }

  /** Takes a key for the time of a command; a caller that died with it frees it after that. */
  async take(name: string, key: string, input: unknown, leaseMs: number): Promise<Taken> {
    const fingerprint = nodeCrypto().createHash("sha256").update(inputText(input)).digest("base64url");
    const token = await this.#db.fetchval<number>(
      `insert into ${this.#table} as r (name, key, fingerprint, lease_until)
       values ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
       on conflict (name, key) do update set token = r.token + 1, lease_until = excluded.lease_until
       where r.finished_at is null and r.lease_until < clock_timestamp() and r.fingerprint = excluded.fingerprint
       returning token`,
      [name, key, fingerprint, leaseMs],
    );
    if (token !== null) return { known: false, token };
    const found = await this.#db.fetchrow<{ fingerprint: string; result: unknown; finished: boolean }>(
      `select fingerprint, result, finished_at is not null as finished from ${this.#table} where name = $1 and key = $2`,
      [name, key],
    );
    if (found !== null && found.fingerprint !== fingerprint) {
      throw new IdempotencyError("the idempotency key was used with another input");
    }
    if (found?.finished) return { known: true, result: found.result };
    throw new IdempotencyError("a command with this idempotency key is running");
  }

  /** Keeps the result of a command. One that is not JSON is kept as null: the command has had its effect. */
  async finish(name: string, key: string, token: number, result: unknown): Promise<void> {
    let text = "null";
    let fault: unknown;
    try {
      text = jsonText(result, "the result of a command");
    } catch (error) {
      fault = error;
    }
    await this.#db.execute(
      `update ${this.#table} set result = $4, finished_at = clock_timestamp() where name = $1 and key = $2 and token = $3`,
      [name, key, token, text],
    );
    if (fault !== undefined) throw fault;
    if (performance.now() - this.#swept < sweepInterval) return;
    this.#swept = performance.now();
    // A failure here is not one of the command; the next sweep deletes the rest.
    await this.#sweep().catch(() => {});
  }

  async #sweep(): Promise<void> {
    await deleteFinished(this.#db, this.#table, { age: this.#age, count: mostResults });
    // Those of callers that died, or whose time was over.
    await this.#db.execute(
      `delete from ${this.#table} where finished_at is null and lease_until <= clock_timestamp() - $1 * interval '1 second'`,
      [this.#age],
    );
  }

  /** Frees the key of a command that failed: it may be tried again. */
  async free(name: string, key: string, token: number): Promise<void> {
    await this.#db.execute(`delete from ${this.#table} where name = $1 and key = $2 and token = $3`, [
      name,
      key,
      token,
    ]);
  }
}

/** The input as text. It is compared, not kept, so it may be any text. */
function inputText(input: unknown): string {
  try {
    return JSON.stringify(input) ?? "null";
  } catch (cause) {
    throw new ValueError("the input of a command with an idempotency key must be JSON", { cause });
  }
}
