import type { Database, Queries } from "../../engines/db/database.js";
import type { Leased, Renewals } from "../storage/leased-worker.js";
import { applied, isFinished, rowFields, type SagaRow, type Transition } from "./row.js";

/** Another worker drives the saga. */
export class DriverReplaced extends Error {
  override name = "DriverReplaced";
}

export interface StartOptions {
  /** The id of the execution. A second start with the same id and input is the same execution. Default: a random one. */
  readonly id?: string | undefined;
  /** The transaction to take part in: the saga begins if it is committed. Default: the one around the caller. */
  readonly tx?: Queries | undefined;
}

/** The claim after a change: it goes on, or it is given back, for a time, for a message, or for ever. */
type After = "kept" | "given" | "waiting" | "finished";

export interface Known {
  readonly name: string;
  readonly version: number;
}

export interface NewSaga extends Known {
  readonly id: string;
  readonly input: string;
  readonly timeoutMs: number;
  readonly parentId?: string;
}

const released = ", owner = null, lease_until = '-infinity'";

/** The assignments that give the claim back. A wait that goes on keeps its time; a new one after another has its own. */
function afterSets(after: After, waited: boolean): string {
  switch (after) {
    case "kept":
      return "";
    case "given":
      return `${released}, wake_at = clock_timestamp() + $15::float8 * interval '1 millisecond'`;
    case "finished":
      return `${released}, finished_at = clock_timestamp()`;
    case "waiting": {
      const given =
        "coalesce($17::timestamptz, clock_timestamp() + $16::float8 * interval '1 millisecond', 'infinity')";
      const until = waited ? given : `coalesce(wait_until, ${given})`;
      const since = waited ? "clock_timestamp()" : "coalesce(waiting_since, clock_timestamp())";
      // An end that was asked for meanwhile must not wait for a message.
      return `${released}, waiting_for = $15, waiting_since = ${since}, wait_until = ${until},
        wake_at = case when cancel then clock_timestamp() else ${until} end`;
    }
  }
}

/** The time in which a saga waited is added to its deadline. */
function waitedSets(after: After): string {
  const cleared = after === "waiting" ? "" : ", waiting_for = null, waiting_since = null, wait_until = null";
  return `${cleared}, deadline = deadline + (clock_timestamp() - coalesce(waiting_since, clock_timestamp()))`;
}

/** The statements of sagas. Each is one round trip, and each change checks the token. */
export class SagaStorage {
  readonly sagas: string;
  readonly log: string;
  readonly inbox: string;
  readonly #texts = new Map<string, string>();

  constructor(
    readonly db: Database,
    readonly schema: string,
    readonly owner: string,
    readonly leaseMs: number,
  ) {
    this.sagas = `"${schema}".sagas`;
    this.log = `"${schema}".saga_log`;
    this.inbox = `"${schema}".saga_inbox`;
  }

  /** Inserts a saga unless there is one with its id; returns the one that is there. */
  async insert(
    given: NewSaga,
    within: Queries,
  ): Promise<{ readonly isNew: boolean; readonly name: string; readonly same: boolean }> {
    const inserted = await within.fetchval(
      `with s as (
         insert into ${this.sagas} (id, name, version, input, deadline, parent_id)
         values ($1, $2, $3, $4, case when $5::float8 > 0 then clock_timestamp() + $5 * interval '1 millisecond' end, $6)
         on conflict (id) do nothing returning id)
       insert into ${this.log} (saga_id, event, token) select id, 'started', 0 from s returning saga_id`,
      [given.id, given.name, given.version, given.input, given.timeoutMs, given.parentId ?? null],
    );
    if (inserted !== null) return { isNew: true, name: given.name, same: true };
    const text = `select name, input = $2::jsonb as same from ${this.sagas} where id = $1`;
    const found = await within.fetchrow<{ name: string; same: boolean }>(text, [given.id, given.input]);
    // It can only be absent here if it was deleted in between.
    return { isNew: false, name: found?.name ?? given.name, same: found?.same ?? true };
  }

  claim(known: readonly Known[], limit: number): Promise<SagaRow[]> {
    return this.db.fetch<SagaRow>(
      `update ${this.sagas} s
       set owner = $3, token = token + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
       where id in (
         select id from ${this.sagas}
         where finished_at is null and status <> 'parked' and greatest(wake_at, lease_until) <= clock_timestamp()
           and (name, version) in (select * from unnest($1::text[], $2::int[]))
         order by greatest(wake_at, lease_until) limit $5 for update skip locked)
       returning ${rowFields}`,
      [known.map(({ name }) => name), known.map(({ version }) => version), this.owner, this.leaseMs, limit],
    );
  }

  /** A saga that was given back has no owner, and its lease is not extended again. */
  async renew(items: readonly Leased[]): Promise<Renewals> {
    const rows = await this.db.fetch<{ id: string; cancel: boolean }>(
      // Children are locked before their parents, as everywhere: their ids begin with the id of the parent.
      `with l as (
         select s.id from ${this.sagas} s, unnest($1::text[], $2::bigint[]) as held (id, token)
         where s.id = held.id and s.token = held.token and s.owner is not null order by s.id desc for update of s)
       update ${this.sagas} s set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
       from l where s.id = l.id returning s.id, s.cancel`,
      [items.map(({ id }) => id), items.map(({ token }) => token), this.leaseMs],
      { timeout: this.leaseMs },
    );
    return new Map(rows.map(({ id, cancel }) => [id, cancel ? "cancel" : "held"]));
  }

  /** Milliseconds until the next saga that this program knows is due; null if there is none. */
  nextDue(known: readonly Known[]): Promise<number | null> {
    return this.db.fetchval<number>(
      `select (extract(epoch from greatest(wake_at, lease_until) - clock_timestamp()) * 1000)::float8
       from ${this.sagas} where finished_at is null and status <> 'parked' and greatest(wake_at, lease_until) < 'infinity'
         and (name, version) in (select * from unnest($1::text[], $2::int[]))
       order by greatest(wake_at, lease_until) limit 1`,
      [known.map(({ name }) => name), known.map(({ version }) => version)],
    );
  }

  /**
   * Makes changes and writes them to the log, in one statement; throws if the token is no longer the saga's. Returns the
   * state after them.
   */
  async transition(row: SagaRow, changes: readonly Transition[], within: Queries = this.db): Promise<SagaRow> {
    const next = applied(row, changes);
    const { wakeAfter, wait } = changes.at(-1)!;
    const after = isFinished(next.status)
      ? "finished"
      : wait !== undefined
        ? "waiting"
        : wakeAfter !== undefined
          ? "given"
          : "kept";
    const waited = row.waitingFor !== null && next.waitingFor === null;
    const results = Object.assign({}, ...changes.map((change) => change.results)) as object;
    const params: unknown[] = [
      row.id,
      row.token,
      next.status,
      next.step,
      next.attempt,
      JSON.stringify(next.branches),
      next.inflight,
      next.unknown,
      JSON.stringify(results),
      next.error,
      changes.map(({ event }) => event),
      changes.map(({ logStep }) => logStep ?? null),
      changes.map(({ logAttempt }) => logAttempt ?? null),
      changes.map(({ logError }) => logError ?? null),
    ];
    if (after === "given") params.push(wakeAfter);
    if (wait !== undefined && after === "waiting") {
      const { until } = wait;
      params.push(wait.for, typeof until === "number" ? until : null, until instanceof Date ? until : null);
    }
    const found = await within.fetchrow<{ left: number | null }>(this.#textOf(after, waited), params);
    if (found === null) throw new DriverReplaced();
    return { ...next, left: found.left };
  }

  /** The text is the same for all changes of a kind, so it is prepared once for each connection. */
  #textOf(after: After, waited: boolean): string {
    const key = `${after} ${waited}`;
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = `with s as (
         update ${this.sagas} set status = $3, step = $4, attempt = $5, branches = $6, inflight = $7, unknown = $8,
           results = results || $9, error = $10, updated_at = clock_timestamp()${afterSets(after, waited)}${waited ? waitedSets(after) : ""}
         where id = $1 and token = $2
         returning id, deadline),
       l as (
         insert into ${this.log} (saga_id, event, step, attempt, token, error)
         select s.id, l.event, l.step, l.attempt, $2, l.error
         from s, unnest($11::text[], $12::text[], $13::int[], $14::text[]) as l (event, step, attempt, error))
       select (extract(epoch from deadline - clock_timestamp()) * 1000)::float8 as left from s`;
      this.#texts.set(key, text);
    }
    return text;
  }
}
