import type { Database, Queries } from "../../engines/db/database.js";
import type { Leased, Renewals } from "../storage/leased-worker.js";

export type SagaStatus = "running" | "compensating" | "completed" | "compensated" | "parked" | "aborted";

/** The state of a saga that its driver works with. */
export interface SagaRow extends Leased {
  readonly name: string;
  readonly version: number;
  readonly status: SagaStatus;
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
  readonly step: number;
  readonly attempt: number;
  readonly inflight: string | null;
  readonly unknown: readonly string[];
  readonly error: string | null;
  readonly cancel: boolean;
  /** Milliseconds until the deadline, by the clock of the database; null without one. */
  readonly left: number | null;
}

/** A change of a saga, with its line in the log. Fields that are absent stay as they are. */
export interface Transition {
  readonly event: string;
  readonly status?: SagaStatus;
  readonly step?: number;
  readonly attempt?: number;
  readonly inflight?: string | null;
  readonly unknown?: readonly string[];
  readonly results?: Readonly<Record<string, unknown>>;
  readonly error?: string | null;
  /** Gives the saga back, due after so many milliseconds. */
  readonly wakeAfter?: number;
  readonly logStep?: string | undefined;
  readonly logAttempt?: number | undefined;
  readonly logError?: string | undefined;
}

/** Another worker drives the saga. */
export class DriverReplaced extends Error {
  override name = "DriverReplaced";
}

const fields = `id, token, name, version, status, input, results, step, attempt, inflight, unknown, error, cancel,
  (extract(epoch from deadline - clock_timestamp()) * 1000)::float8 as left`;

/** The statements of sagas. Each is one round trip, and each change checks the token. */
export class SagaStorage {
  readonly #sagas: string;
  readonly #log: string;

  constructor(
    readonly db: Database,
    schema: string,
    readonly owner: string,
    readonly leaseMs: number,
  ) {
    this.#sagas = `"${schema}".sagas`;
    this.#log = `"${schema}".saga_log`;
  }

  get table(): string {
    return this.#sagas;
  }

  /** Inserts a saga unless there is one with its id; returns the one that is there. */
  async insert(
    given: { id: string; name: string; version: number; input: string; timeoutMs: number },
    within: Queries,
  ): Promise<{ readonly isNew: boolean; readonly name: string; readonly same: boolean }> {
    const inserted = await within.fetchval(
      `with s as (
         insert into ${this.#sagas} (id, name, version, input, deadline)
         values ($1, $2, $3, $4, case when $5::float8 > 0 then clock_timestamp() + $5 * interval '1 millisecond' end)
         on conflict (id) do nothing returning id)
       insert into ${this.#log} (saga_id, event, token) select id, 'started', 0 from s returning saga_id`,
      [given.id, given.name, given.version, given.input, given.timeoutMs],
    );
    if (inserted !== null) return { isNew: true, name: given.name, same: true };
    const text = `select name, input = $2::jsonb as same from ${this.#sagas} where id = $1`;
    const found = await within.fetchrow<{ name: string; same: boolean }>(text, [given.id, given.input]);
    // It can only be absent here if it was deleted in between.
    return { isNew: false, name: found?.name ?? given.name, same: found?.same ?? true };
  }

  claim(known: readonly { readonly name: string; readonly version: number }[], limit: number): Promise<SagaRow[]> {
    return this.db.fetch<SagaRow>(
      `update ${this.#sagas} s
       set owner = $3, token = token + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
       where id in (
         select id from ${this.#sagas}
         where finished_at is null and status <> 'parked' and greatest(wake_at, lease_until) <= clock_timestamp()
           and (name, version) in (select * from unnest($1::text[], $2::int[]))
         order by greatest(wake_at, lease_until) limit $5 for update skip locked)
       returning ${fields}`,
      [known.map(({ name }) => name), known.map(({ version }) => version), this.owner, this.leaseMs, limit],
    );
  }

  /** A saga that was given back has no owner, and its lease is not extended again. */
  async renew(items: readonly Leased[]): Promise<Renewals> {
    const rows = await this.db.fetch<{ id: string; cancel: boolean }>(
      `update ${this.#sagas} s set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       from unnest($1::text[], $2::bigint[]) as held (id, token)
       where s.id = held.id and s.token = held.token and s.owner is not null returning s.id, s.cancel`,
      [items.map(({ id }) => id), items.map(({ token }) => token), this.leaseMs],
      { timeout: this.leaseMs },
    );
    return new Map(rows.map(({ id, cancel }) => [id, cancel ? "cancel" : "held"]));
  }

  /** Milliseconds until the next saga that this program knows is due; null if there is none. */
  nextDue(known: readonly { readonly name: string; readonly version: number }[]): Promise<number | null> {
    return this.db.fetchval<number>(
      `select (extract(epoch from greatest(wake_at, lease_until) - clock_timestamp()) * 1000)::float8
       from ${this.#sagas} where finished_at is null and status <> 'parked'
         and (name, version) in (select * from unnest($1::text[], $2::int[]))
       order by greatest(wake_at, lease_until) limit 1`,
      [known.map(({ name }) => name), known.map(({ version }) => version)],
    );
  }

  /** Makes a change and writes it to the log, in one statement; throws if the token is no longer the saga's. */
  async transition(row: SagaRow, change: Transition): Promise<SagaRow> {
    const next = { ...row, ...change };
    const finished = next.status === "completed" || next.status === "compensated" || next.status === "aborted";
    const left = await this.db.fetchrow<{ left: number | null }>(
      `with s as (
         update ${this.#sagas} set status = $3, step = $4, attempt = $5, inflight = $6, unknown = $7, results = $8,
           error = $9, updated_at = clock_timestamp(),
           finished_at = case when $10::boolean then clock_timestamp() end,
           wake_at = case when $11::float8 is null then wake_at else clock_timestamp() + $11 * interval '1 millisecond' end,
           lease_until = case when $11 is null and not $10 then lease_until else '-infinity' end,
           owner = case when $11 is null and not $10 then owner end
         where id = $1 and token = $2
         returning id, deadline),
       l as (
         insert into ${this.#log} (saga_id, event, step, attempt, token, error)
         select id, $12, $13, $14, $2, $15 from s)
       select (extract(epoch from deadline - clock_timestamp()) * 1000)::float8 as left from s`,
      [
        row.id,
        row.token,
        next.status,
        next.step,
        next.attempt,
        next.inflight,
        next.unknown,
        JSON.stringify(next.results),
        next.error,
        finished,
        change.wakeAfter ?? null,
        change.event,
        change.logStep ?? null,
        change.logAttempt ?? null,
        change.logError ?? null,
      ],
    );
    if (left === null) throw new DriverReplaced();
    return { ...next, left: left.left };
  }
}
